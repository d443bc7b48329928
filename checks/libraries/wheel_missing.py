"""NVIDIA wheels that a framework requires but that are not installed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Framework, UnmetRequirement
from gpudoctor.fixes.python import install
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.maybe import Unknown
from gpudoctor.queries.libraries import needs_of
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
    references=("https://packaging.python.org/en/latest/specifications/core-metadata/#requires-dist",),
    targets=pythons,
    caused_by=("python.*", "libraries.wheel-incomplete"),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def wheel_missing(on: OnPython) -> Problem | None:
    """A pinned nvidia-* wheel is not installed, and its library is nowhere else."""
    lacking = [u for u in _lacking(on) if _suffers(_framework(on, u.package))]
    if not lacking:
        return None
    first = lacking[0]
    framework = _framework(on, first.package)
    names = ", ".join(u.requires for u in lacking)
    message = f"{NAMES.get(first.package, first.package)} {first.version} requires {names}, which is not installed."
    live = framework.live if framework else None
    return Problem(message, (live.import_error,) if live and live.import_error else ())
