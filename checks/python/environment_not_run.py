"""The environment of the working directory belongs to another user, so another Python was checked."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.targets import NAMES, OnPython, pythons
from gpudoctor.tasks import query


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    if on.python.not_run is None:
        return ()
    command = query("gpudoctor", "check", "--python", on.python.not_run.path)
    message = "If you trust its owner, select it with --python; or run gpudoctor as its owner."
    return (Fix(message, (command,), verify=command, impact="none"),)


@check(
    title="The environment in this directory belongs to another user and was not checked",
    severity=Severity.ADVICE,
    cause="Checking an environment runs its Python, and with it any code that its owner put there. gpudoctor does "
    "that automatically only if the environment belongs to the user who runs gpudoctor, or to root.",
    fixes=_fixes,
    references=("https://docs.python.org/3/library/site.html", "https://docs.astral.sh/uv/pip/environments/"),
    targets=pythons,
    only_with=("pythons.not_run",),
    affects=("wheels",),
    validated_on=("table 2026-11",),
    bearable=True,
)
def environment_not_run(on: OnPython) -> Problem | None:
    """A .venv was skipped; a WARNING where only that one has a framework."""
    found = on.python.not_run
    if found is None:
        return None
    inside = " and ".join(NAMES.get(name, name) for name in found.frameworks)
    contents = f", which has {inside}," if inside else ""
    message = f"{found.path}{contents} belongs to user {found.owner}, so its Python was not run; {on.python.path} was."
    alone = bool(inside) and not on.python.frameworks
    return Problem(message, severity=Severity.WARNING if alone else None)
