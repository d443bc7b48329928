"""NVIDIA wheels that a framework requires but that are not installed."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Framework, UnmetRequirement
from gpudoctor.fixes.python import install
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.knowledge.sonames import opened_late, soname_of
from gpudoctor.maybe import Unknown, known
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.libraries import needs_of
from gpudoctor.queries.packages import packages_of, stem
from gpudoctor.targets import NAMES, OnPython, pythons


def _lacking(on: OnPython) -> list[UnmetRequirement]:
    return [u for u in on.python.unmet if u.found is None and u.requires.startswith("nvidia-")]


def _framework(on: OnPython, name: str) -> Framework | None:
    return next((f for f in on.python.frameworks if f.distribution == name), None)


def _suffers(framework: Framework | None) -> bool:
    """Whether the framework lacks a library, or could not be checked."""
    if framework is None:
        return False
    if framework.live is not None and framework.live.import_error:
        return True
    if isinstance(framework.needs, Unknown):
        return framework.live is None
    return any(need.path is None for need in needs_of(framework))


def _late(on: OnPython, unmet: UnmetRequirement) -> tuple[str, str] | None:
    """The library of a missing wheel that its framework opens by name when it is first used, and what fails then.

    None where a copy is in another wheel or on the loader's path, or where there is no GPU to use it for.
    """
    framework, name = _framework(on, unmet.package), re.split(r"[\s(=<>!~;]", unmet.requires, maxsplit=1)[0]
    found = opened_late(stem(name))
    if found is None or framework is None or not isinstance(framework.cuda, str) or not nvidia_gpus(on.facts):
        return None
    soname = soname_of(found[0], framework.cuda.partition(".")[0])
    return (soname, found[1]) if soname and not _is_there(on.facts, on, framework, soname) else None


def _is_there(facts: Facts, on: OnPython, framework: Framework, soname: str) -> bool:
    of_packages = {library for package in packages_of(on.python) for library in package.libraries}
    of_needs = {need.soname for need in needs_of(framework) if need.path}
    return soname in of_packages | of_needs or any(lib.soname == soname for lib in known(facts.toolkits.libraries))


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    specs = [u.requires.replace(" ", "") for u in _lacking(on)]
    message = f"Install the missing packages: {', '.join(specs)}."
    return (Fix(message, (install(on.python, *specs),), "reinstall-package", verify=framework_proof(on.python)),)


@check(
    title="CUDA libraries that a framework requires are not installed",
    severity=Severity.ERROR,
    cause="The framework's wheel does not contain CUDA's libraries; it requires them as separate packages, and some "
    "are missing: the wheel was installed without dependencies, or they were removed.",
    fixes=_fixes,
    references=(
        "https://packaging.python.org/en/latest/specifications/core-metadata/#requires-dist",
        "https://github.com/pytorch/pytorch/issues/178196",
        "https://docs.nvidia.com/cuda/nvrtc/index.html#installation",
    ),
    targets=pythons,
    only_with=("pythons.unmet",),
    caused_by=("python.*", "libraries.wheel-incomplete"),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def wheel_missing(on: OnPython) -> Problem | None:
    """A pinned nvidia-* wheel is not installed, and its library, also one that is opened late, is nowhere else."""
    lacking = [u for u in _lacking(on) if _suffers(_framework(on, u.package))]
    if not lacking:
        return _opened_late(on)
    first = lacking[0]
    framework = _framework(on, first.package)
    names = ", ".join(u.requires for u in lacking)
    are = "is" if len(lacking) == 1 else "are"
    message = f"{NAMES.get(first.package, first.package)} {first.version} requires {names}, which {are} not installed."
    live = framework.live if framework else None
    return Problem(message, (live.import_error,) if live and live.import_error else ())


def _opened_late(on: OnPython) -> Problem | None:
    """Of what a framework opens when it is first used, its import and most of its work show nothing."""
    found = next(((u, late) for u in _lacking(on) if (late := _late(on, u))), None)
    if found is None:
        return None
    unmet, (soname, effect) = found
    name = NAMES.get(unmet.package, unmet.package)
    message = (
        f"{name} {unmet.version} requires {unmet.requires}, which is not installed, and {soname} is nowhere else: "
        f"{name} opens it by name when it is first used, and {effect}."
    )
    return Problem(message, severity=Severity.WARNING)
