"""The checked interpreter has no framework; another one has."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Python
from gpudoctor.facts.python import Elsewhere
from gpudoctor.fixes.frameworks import install_framework
from gpudoctor.fixes.python import NEW, REMOVE_NEW, install
from gpudoctor.knowledge.wanted import is_framework, stands_alone
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


_MANAGED = (
    "Create a virtual environment: this Python belongs to the distribution, and its pip refuses to install packages."
)


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
    """The interpreters with a framework, those first that have what is meant to be here, then that of `pip`.

    What computes without a framework lacks none; and ONNX Runtime alone comes with many a tool, so that nobody misses
    it for that.
    """
    wanted, alone = _wanted(on), any(stands_alone(package.name) for package in packages_of(on.python))
    return sorted(
        (
            other
            for other in known(on.python.elsewhere)
            if other.frameworks
            and (
                _is_of_pip(on, other)
                or wanted.intersection(other.frameworks)
                or not (alone or other.frameworks == ("onnxruntime",))
            )
        ),
        key=lambda other: (wanted.isdisjoint(other.frameworks), not _is_of_pip(on, other)),
    )


def _is_of_pip(on: OnPython, other: Elsewhere) -> bool:
    """Whether `pip` on PATH installs for it."""
    return isinstance(on.python.pip, str) and other.path == on.python.pip


def _is_split(on: OnPython, other: Elsewhere) -> bool:
    """Whether `python` is the examined one and `pip` of that other, so that a user who types both gets no framework."""
    return _is_of_pip(on, other) and on.python.first_on_path is True


def _release(path: str) -> str:
    """The release that the name of an interpreter shows: "3.12" of /usr/bin/python3.12; "" where it shows none."""
    name = path.rpartition("/")[2]
    return name.removeprefix("python") if name.startswith("python3.") else ""


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    others, own = _others(on), on.python.path
    path = others[0].path
    check_it = query("gpudoctor", "check", "--python", path)
    there = Fix("Check that one, and run your programs with it.", (check_it,), verify=check_it, impact="none")
    if _is_split(on, others[0]) and (here := _installs(on, others[0])):
        return (*here, there)
    fixes = [there]
    if _release(path) and on.python.kind == "venv" and not _wanted(on).isdisjoint(others[0].frameworks):
        message = f"Create the environment again, from Python {_release(path)} and with access to its packages."
        task = cmd(path, "-m", "venv", "--system-site-packages", NEW)
        fixes.append(Fix(message, (task,), "reinstall-package", undo=(REMOVE_NEW,)))
    if on.python.externally_managed is True:
        commands = (cmd(own, "-m", "venv", NEW), cmd(f"{NEW}/bin/python", "-m", "pip", "install", REST))
        return (*fixes, Fix(_MANAGED, commands, "reinstall-package", undo=(REMOVE_NEW,)))
    message = "Install a framework in this one, with this interpreter's own pip."
    return (
        *fixes,
        Fix(
            message,
            (msgspec.structs.replace(install(on.python, REST.name), placeholders=(REST,)),),
            "reinstall-package",
        ),
    )


def _installs(on: OnPython, other: Elsewhere) -> tuple[Fix, ...]:
    """Install here what `pip` installed there; for a Python of the distribution in an environment of its own."""
    wanted = _wanted(on).intersection(other.frameworks)
    name = next(name for name in other.frameworks if name in wanted or not wanted)
    if on.python.externally_managed is not True:
        return install_framework(on.facts, on.python, name)
    new = Python(path=f"{NEW}/bin/python", prefix=NEW, version=on.python.version, manager="pip", packages=())
    return tuple(
        msgspec.structs.replace(
            fix, message=_MANAGED, tasks=(cmd(on.python.path, "-m", "venv", NEW), *fix.tasks), undo=(REMOVE_NEW,)
        )
        for fix in install_framework(on.facts, new, name)[:1]
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
    split = _is_split(on, first)
    if split:
        message += " `pip` on PATH installs for that one, but `python` starts this one."
    elif isinstance(on.python.pip, str):
        message += f" `pip` on PATH installs for {on.python.pip}."
    seen = tuple(f"{o.path}: {', '.join(NAMES.get(n, n) for n in o.frameworks)}" for o in others[1:5])
    return Problem(message, seen, severity=Severity.WARNING if meant or split else None)
