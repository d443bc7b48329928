"""A CUDA library that is older than a framework pins."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import UnmetRequirement
from gpudoctor.fixes.python import install, lasting
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.maybe import phrase, present
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import numbers, packages_of
from gpudoctor.targets import NAMES, OnPython, pythons


def _broken(on: OnPython) -> list[tuple[UnmetRequirement, str, str]]:
    """Each library pin of a framework (other than cuDNN), its wheel and version, where an older one is installed."""
    found = []
    for unmet in on.python.unmet:
        name, _, pin = unmet.requires.replace(" ", "").partition("==")
        ours = name.startswith("nvidia-") and not name.startswith("nvidia-cudnn")
        if ours and unmet.found and pin and _older(unmet.found, pin):
            found.append((unmet, name, pin))
    return sorted(found, key=lambda one: not _named(on, one[1]))


def _older(found: str, pin: str) -> bool:
    """Newer releases of one major stay backward compatible: https://docs.nvidia.com/cuda/ (compatibility)."""
    there, wanted = numbers(found)[:3], numbers(pin)[:3]
    return bool(there and wanted) and (there < wanted or there[0] != wanted[0])


def _errors(on: OnPython) -> str:
    return " ".join(f.live.import_error or "" for f in on.python.frameworks if f.live)


def _named(on: OnPython, wheel: str) -> bool:
    """Whether a framework's error mentions this wheel's library."""
    return wheel.removeprefix("nvidia-").rpartition("-cu")[0].replace("-", "") in _errors(on).lower()


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    specs = [f"{name}=={pin}" for _, name, pin in _broken(on)]
    who = _broken(on)[0][0].package
    message = f"Install the version that {NAMES.get(who, who)} is built with.{lasting(on.facts)}"
    return (Fix(message, (install(on.python, *specs),), "reinstall-package", verify=framework_proof(on.python)),)


@check(
    title="CUDA library is older than the version that the framework pins",
    severity=Severity.WARNING,
    cause="The CUDA libraries of one release use each other's newest functions. Another package installed an older "
    "one, against the pin: then functions are missing (undefined symbol), or calls fail at run time.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/cuopt/pull/850",
        "https://github.com/vllm-project/vllm/issues/6118",
        "https://pip.pypa.io/en/stable/cli/pip_check/",
    ),
    targets=pythons,
    caused_by=("python.*", "libraries.overlapping-wheels"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def pin_broken(on: OnPython) -> Problem | None:
    """A pin on one of NVIDIA's wheels, and an older one or one of another major is installed."""
    broken = _broken(on)
    if not broken:
        return None
    unmet, name, pin = broken[0]
    asks = [p.name for p in packages_of(on.python) if p.name != unmet.package and name in " ".join(p.requires)]
    by = f" ({asks[0]} requires it too)" if asks else ""
    who = NAMES.get(unmet.package, unmet.package)
    message = f"{who} {unmet.version} is built with {name} {pin}, but {present(unmet.found)} is installed{by}."
    framework = one_of(on.python, unmet.package)
    failed = framework is not None and framework.live is not None and bool(framework.live.import_error)
    lines = tuple(f"{u.package} requires {u.requires}{phrase(', found {}', u.found)}" for u, _, _ in broken[:5])
    return Problem(message, lines, severity=Severity.ERROR if failed and _named(on, name) else None)
