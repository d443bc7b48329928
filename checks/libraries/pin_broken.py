"""A CUDA library that is older than a framework pins, or than a GPU package requires."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import UnmetRequirement
from gpudoctor.fixes.python import install, lasting
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import phrase, present, text_of
from gpudoctor.queries.driver import driver_cuda
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.loading import failures, imports_of
from gpudoctor.queries.packages import compiles_ptx, numbers, packages_of, stem
from gpudoctor.targets import NAMES, OnPython, pythons

_CLAUSE = pattern(r"(==|>=)([\d.]+)")
_LINKER = (
    "nvJitLink links code that was compiled with a CUDA release of its own major and of the same or an older minor "
    "version. Another package installed an older nvJitLink: then functions are missing (undefined symbol), or what is "
    "compiled at run time is refused ('may need newer version of nvJitLink library')."
)


def _broken(on: OnPython) -> list[tuple[UnmetRequirement, str, str]]:
    """Each requirement of a library (other than cuDNN), with "==" or ">=" and the version, where an older one is."""
    found = []
    for unmet in on.python.unmet:
        text = unmet.requires.replace(" ", "")
        name, clause = _name(unmet), _CLAUSE.search(text)
        ours = (
            name.startswith("nvidia-") and not name.startswith("nvidia-cudnn") and not _serves_driver(on, name, unmet)
        )
        if ours and unmet.found and clause and _older(unmet.found, clause[2]):
            found.append((unmet, clause[1], clause[2]))
    return sorted(found, key=lambda one: not _named(on, _name(one[0])))


def _serves_driver(on: OnPython, name: str, unmet: UnmetRequirement) -> bool:
    """Whether an older NVRTC of the same major is here for a package whose PTX the driver has to take (OpenMM)."""
    if stem(name) != "nvidia-cuda-nvrtc" or not compiles_ptx(on.python):
        return False
    there, theirs = numbers(unmet.found or "")[:2], numbers(text_of(driver_cuda(on.facts)))[:2]
    wanted = _CLAUSE.search(unmet.requires.replace(" ", ""))
    return wanted is not None and there[:1] == theirs[:1] and there <= theirs < numbers(wanted[2])[:2]


def _name(unmet: UnmetRequirement) -> str:
    return re.split(r"[\s\[(=<>!~]", unmet.requires, maxsplit=1)[0]


def _older(found: str, pin: str) -> bool:
    """Newer releases of one major stay backward compatible: https://docs.nvidia.com/cuda/ (compatibility)."""
    there, wanted = numbers(found)[:3], numbers(pin)[:3]
    return bool(there and wanted) and (there < wanted or there[0] != wanted[0])


def _errors(on: OnPython) -> str:
    of_frameworks = (f.live.import_error or "" for f in on.python.frameworks if f.live)
    return " ".join((*of_frameworks, *(error for _, error in failures(on.python)), *_stderr(on)))


def _stderr(on: OnPython) -> tuple[str, ...]:
    """The lines about errors that packages wrote while they were imported."""
    lines = (line for one in imports_of(on.python) for line in one.stderr.splitlines())
    return tuple(line.strip() for line in lines if "error" in line.lower())


def _named(on: OnPython, wheel: str) -> bool:
    """Whether an error mentions this wheel's library."""
    return stem(wheel).removeprefix("nvidia-").replace("-", "") in _errors(on).lower()


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    broken = _broken(on)
    specs = [f"{_name(unmet)}{clause}{pin}" for unmet, clause, pin in broken]
    who, clause = NAMES.get(broken[0][0].package, broken[0][0].package), broken[0][1]
    if clause == "==":
        message = f"Install the version that {who} is built with."
    else:
        message = (
            f"Install a version that {who} accepts; newer releases of one major keep the functions of older ones, so "
            "packages that pin an older one work with it, though pip reports a conflict."
        )
    command = install(on.python, *specs)
    return (Fix(f"{message}{lasting(on.facts)}", (command,), "reinstall-package", verify=framework_proof(on.python)),)


@check(
    title="CUDA library is older than an installed package requires",
    severity=Severity.WARNING,
    cause="The CUDA libraries of one release use each other's newest functions. Another package installed an older "
    "one, against the requirement: then functions are missing (undefined symbol), or calls fail at run time.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/cuopt/pull/850",
        "https://github.com/vllm-project/vllm/issues/6118",
        "https://github.com/rapidsai/deployment/issues/729",
        "https://docs.nvidia.com/cuda/nvjitlink/index.html#compatibility",
        "https://pip.pypa.io/en/stable/cli/pip_check/",
    ),
    targets=pythons,
    only_with=("pythons.unmet",),
    caused_by=("python.*", "libraries.overlapping-wheels"),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def pin_broken(on: OnPython) -> Problem | None:
    """A requirement of one of NVIDIA's wheels, and an older one or one of another major is installed."""
    broken = _broken(on)
    if not broken:
        return None
    unmet, clause, pin = broken[0]
    name, who = _name(unmet), NAMES.get(unmet.package, unmet.package)
    asks = [p.name for p in packages_of(on.python) if p.name != unmet.package and name in " ".join(p.requires)]
    by = f" ({asks[0]} requires it too)" if asks else ""
    wants = f"is built with {name} {pin}" if clause == "==" else f"requires {name}>={pin}"
    message = f"{who} {unmet.version} {wants}, but {present(unmet.found)} is installed{by}."
    framework = one_of(on.python, unmet.package)
    failed = framework is not None and framework.live is not None and bool(framework.live.import_error)
    severity = Severity.ERROR if (failed or clause == ">=") and _named(on, name) else None
    lines = tuple(f"{u.package} requires {u.requires}{phrase(', found {}', u.found)}" for u, _, _ in broken[:5])
    said = tuple(line for line in _stderr(on) if "nvjitlink" in line.lower())[:2]
    cause = _LINKER if "nvjitlink" in name else None
    return Problem(message, (*lines, *said), severity=severity, cause=cause)
