"""The checked interpreter has no framework; another one has."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.facts.python import Elsewhere
from gpudoctor.fixes.python import NEW, REMOVE_NEW, install
from gpudoctor.knowledge.wanted import is_framework
from gpudoctor.maybe import known, text_of
from gpudoctor.parsers.metadata import is_optional, required_name
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.queries.packages import packages_of
from gpudoctor.targets import ANY_GPU, NAMES, OnPython, pythons
from gpudoctor.tasks import cmd, query
from gpudoctor.tasks.placeholders import REST

# Variables of NVIDIA's images that name the release of the framework that the image is for, by its import name:
# https://docs.nvidia.com/deeplearning/frameworks/user-guide/index.html
_OF_IMAGE = {
    "torch": "NVIDIA_PYTORCH_VERSION",
    "tensorflow": "NVIDIA_TENSORFLOW_VERSION",
    "jax": "NVIDIA_JAX_VERSION",
}


def _gpu(facts: Facts) -> bool:
    return bool(nvidia_gpus(facts) or amd_gpus(facts))


def _wanted(on: OnPython) -> set[str]:
    """What is meant to be here: the framework of the container's image, and what an installed package requires."""
    image = {name for name, variable in _OF_IMAGE.items() if on.facts.host.environment.get(variable)}
    lines = (line for package in packages_of(on.python) for line in package.requires if not is_optional(line))
    return image | {required_name(line) for line in lines} & NAMES.keys()


def _interrupted(on: OnPython) -> bool:
    """Whether pip was interrupted at a framework of this one, which python.half-removed reports."""
    return any(r.reason.startswith("~") and is_framework(r.module) for r in on.python.remnants)


def _others(on: OnPython) -> list[Elsewhere]:
    """The interpreters with a framework, those first that have what is meant to be here."""
    wanted = _wanted(on)
    return sorted(
        (other for other in known(on.python.elsewhere) if other.frameworks),
        key=lambda other: wanted.isdisjoint(other.frameworks),
    )


def _release(path: str) -> str:
    """The release that the name of an interpreter shows: "3.12" of /usr/bin/python3.12; "" where it shows none."""
    name = path.rpartition("/")[2]
    return name.removeprefix("python") if name.startswith("python3.") else ""


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    others, own = _others(on), on.python.path
    path = others[0].path
    check_it = query("gpudoctor", "check", "--python", path)
    fixes = [Fix("Check that one, and run your programs with it.", (check_it,), verify=check_it, impact="none")]
    if _release(path) and on.python.kind == "venv" and not _wanted(on).isdisjoint(others[0].frameworks):
        message = f"Create the environment again, from Python {_release(path)} and with access to its packages."
        task = cmd(path, "-m", "venv", "--system-site-packages", NEW)
        fixes.append(Fix(message, (task,), "reinstall-package", undo=(REMOVE_NEW,)))
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
    only_with=("pythons.elsewhere", ANY_GPU),
    caused_by=("python.environment-not-run",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def framework_elsewhere(on: OnPython) -> Problem | None:
    """No framework here on a machine with a GPU, nor one that pip left half removed, but one elsewhere."""
    if on.python.frameworks or not _gpu(on.facts) or _interrupted(on):
        return None
    others = _others(on)
    if not others:
        return None
    first, wanted = others[0], _wanted(on)
    names = " and ".join(NAMES.get(name, name) for name in first.frameworks)
    message = f"{on.python.path} has no framework; {names} {'are' if first.frameworks[1:] else 'is'} in {first.path}."
    meant = sorted(wanted.intersection(first.frameworks))
    own, other = text_of(on.python.version), _release(first.path)
    if meant and own and other not in ("", ".".join(own.split(".")[:2])):
        message += f" What is installed for Python {other} cannot be imported here, by Python {own}."
    if any(_OF_IMAGE.get(name) in on.facts.host.environment for name in meant):
        message += f" This container's image is made for {' and '.join(NAMES[name] for name in meant)}."
    if isinstance(on.python.pip, str):
        message += f" `pip` on PATH installs for {on.python.pip}."
    seen = tuple(f"{o.path}: {', '.join(NAMES.get(n, n) for n in o.frameworks)}" for o in others[1:5])
    return Problem(message, seen, severity=Severity.WARNING if meant else None)
