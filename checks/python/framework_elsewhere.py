"""The checked interpreter has no framework; another one has."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.python import NEW, REMOVE_NEW, install
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.targets import NAMES, OnPython, pythons
from gpudoctor.tasks import cmd, query
from gpudoctor.tasks.placeholders import REST


def _gpu(facts: Facts) -> bool:
    return bool(nvidia_gpus(facts) or amd_gpus(facts))


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    others, own = [o for o in known(on.python.elsewhere) if o.frameworks], on.python.path
    path = others[0].path
    check_it = query("gpudoctor", "check", "--python", path)
    fixes = [Fix("Check that one, and run your programs with it.", (check_it,), verify=check_it, impact="none")]
    if on.python.externally_managed is True:
        message = (
            "Create a virtual environment: this Python belongs to the distribution, and its pip refuses to install "
            "packages."
        )
        commands = (cmd(own, "-m", "venv", NEW), cmd(f"{NEW}/bin/python", "-m", "pip", "install", REST))
        return (*fixes, Fix(message, commands, "reinstall-package", undo=(REMOVE_NEW,)))
    message = "Install a framework in this one, with this interpreter's own pip."
    return (
        *fixes,
        Fix(
            message,
            (msgspec.structs.replace(install(on.python, REST.name), placeholders=(REST,)),),
            "reinstall-package",
        ),
    )


@check(
    title="The framework is installed in another Python than the one checked",
    severity=Severity.ADVICE,
    cause="Each interpreter and each environment has its own packages. `pip` on PATH installs for the interpreter in "
    "its shebang line, which may not be the one that `python` starts.",
    fixes=_fixes,
    references=("https://docs.python.org/3/installing/index.html", "https://docs.python.org/3/library/venv.html"),
    targets=pythons,
    caused_by=("python.environment-not-run",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def framework_elsewhere(on: OnPython) -> Problem | None:
    """No framework here on a machine with a GPU, but one elsewhere."""
    if on.python.frameworks or not _gpu(on.facts):
        return None
    others = [other for other in known(on.python.elsewhere) if other.frameworks]
    if not others:
        return None
    names = " and ".join(NAMES.get(name, name) for name in others[0].frameworks)
    message = f"{on.python.path} has no framework; {names} is in {others[0].path}."
    if len(others[0].frameworks) > 1:
        message = message.replace(" is in ", " are in ")
    if isinstance(on.python.pip, str):
        message += f" `pip` on PATH installs for {on.python.pip}."
    seen = tuple(f"{o.path}: {', '.join(NAMES.get(n, n) for n in o.frameworks)}" for o in others[1:5])
    return Problem(message, seen)
