"""Installed packages whose library files are missing."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.python import install
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.queries.packages import packages_of, release
from gpudoctor.registry import BY_MODULE
from gpudoctor.targets import OnPython, pythons

_OURS = ("nvidia-", *BY_MODULE, "triton")


def _damaged(on: OnPython) -> list[Package]:
    """Packages without some of their libraries; conda packages have other records."""
    found = (p for p in packages_of(on.python) if p.missing and p.name.startswith(_OURS) and p.installer != "conda")
    return [p for p in found if any(".so" in name for name in p.missing)]


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    specs = [f"{p.name}=={release(p.version)}" for p in _damaged(on)]
    command = install(on.python, *specs, force=True, no_deps=True)
    return (
        Fix(f"Reinstall {' and '.join(specs)}.", (command,), "reinstall-package", verify=framework_proof(on.python)),
    )


@check(
    title="Files of an installed package are missing",
    severity=Severity.WARNING,
    cause="An installation was interrupted, another package that shares the directory was removed, or the files were "
    "deleted to save space: the wheel is incomplete.",
    fixes=_fixes,
    references=("https://packaging.python.org/en/latest/specifications/recording-installed-packages/",),
    targets=pythons,
    caused_by=("python.*", "libraries.overlapping-wheels", "onnxruntime.both-packages", "cupy.several-packages"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def wheel_incomplete(on: OnPython) -> Problem | None:
    """RECORD lists libraries that do not exist."""
    damaged = _damaged(on)
    if not damaged:
        return None
    first = damaged[0]
    more = f" (and {len(damaged) - 1} more packages)" if len(damaged) > 1 else ""
    message = (
        f"{first.name} {first.version} lacks {len(first.missing)} of its files{more}: {first.missing[0]} is missing."
    )
    asked = [f.live for f in on.python.frameworks if f.live]
    works = bool(asked) and all(live.import_error is None and live.died is None for live in asked)
    return Problem(message, tuple(first.missing[:5]), severity=Severity.ADVICE if works else None)
