"""An interpreter that does not run."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown, known
from gpudoctor.targets import OnPython
from gpudoctor.tasks import query

# How the probe's sentence ends where there was no time left to run it.
OUT_OF_TIME = "out of time."


def _all(facts: Facts) -> Iterator[tuple[About, OnPython]]:
    for python in facts.pythons:
        yield About(label=python.path, python=python.path), OnPython(facts, python)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    path = on.python.path
    message = (
        f"Run {on.python.path} by hand to see the error, first without its startup files. If its base interpreter is "
        "gone, recreate the environment and reinstall its packages."
    )
    commands = (query(path, "-I", "-S", "-c", "import sys; print(sys.version)"), query("ls", "-l", path))
    return (Fix(message, commands, impact="none"),)


@check(
    title="Python interpreter does not run",
    severity=Severity.ERROR,
    cause="The environment was moved, its base interpreter was removed or upgraded, or a startup file (sitecustomize, "
    "a .pth file) fails.",
    fixes=_fixes,
    references=("https://docs.python.org/3/library/venv.html",),
    targets=_all,
    only_with=("pythons.error",),
    caused_by=("host.*",),
    affects=("everything",),
    validated_on=("facts 2026-11",),
    essential=True,
)
def interpreter_broken(on: OnPython) -> Problem | None:
    """The interpreter could not be run at all."""
    error = on.python.error
    if error and error.endswith(OUT_OF_TIME):
        known(Unknown(error.rstrip(".")))  # it was not run, so its state is unknown
    return Problem(f"{on.python.path} could not be run: {error}", (error,)) if error else None
