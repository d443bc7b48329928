"""Installed packages whose library files are missing, or end too early."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.reinstall import replaced
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.queries.packages import and_more, packages_of, release
from gpudoctor.registry import BY_MODULE
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks import query

_OURS = ("nvidia-", *BY_MODULE, "triton", "numpy", "torchvision", "torchaudio")


def _damaged(on: OnPython) -> list[Package]:
    """Packages without some of their libraries; conda packages have other records."""
    found = (p for p in packages_of(on.python) if p.name.startswith(_OURS) and p.installer != "conda")
    hurt = [p for p in found if p.cut or any(".so" in name for name in p.missing)]
    return sorted(hurt, key=lambda p: not p.cut)


def _fails(on: OnPython) -> bool | None:
    """Whether a framework does not import; None where none was tried."""
    asked = [f.live for f in on.python.frameworks if f.live]
    return any(live.import_error or live.died for live in asked) if asked else None


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    damaged = _damaged(on)
    message = f"Reinstall {' and '.join(f'{p.name}=={release(p.version)}' for p in damaged)}."
    if damaged[0].cut:
        message = f"Make sure that the disk has room (first command). {message}"
    room = (query("df", "-h", damaged[0].directory),) if damaged[0].cut else ()
    tasks = (*room, *replaced(on.python, damaged))
    return (Fix(message, tasks, "reinstall-package", verify=framework_proof(on.python)),)


@check(
    title="Files of an installed package are missing or truncated",
    severity=Severity.WARNING,
    cause="An installation was interrupted, the disk was full, another package that shares the directory was removed, "
    "or the files were deleted to save space: the wheel is incomplete. Loading a truncated library ends in SIGBUS or "
    "'file too short'.",
    fixes=_fixes,
    references=("https://packaging.python.org/en/latest/specifications/recording-installed-packages/",),
    targets=pythons,
    only_with=("pythons.packages.cut pythons.packages.missing",),
    caused_by=("python.*", "libraries.overlapping-wheels", "onnxruntime.both-packages", "cupy.several-packages"),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def wheel_incomplete(on: OnPython) -> Problem | None:
    """RECORD lists libraries that do not exist, or that are shorter than it and their own headers say."""
    damaged = _damaged(on)
    if not damaged:
        return None
    first, failing = damaged[0], _fails(on)
    if first.cut:
        message = f"{first.cut[0]} of {first.name} {first.version} is truncated{and_more(damaged)}."
        return Problem(message, first.cut[:5], severity=Severity.ERROR if failing else None)
    count, example = len(first.missing), first.missing[0]
    message = f"{first.name} {first.version} lacks {count} of its files{and_more(damaged)}: {example} is missing."
    return Problem(message, first.missing[:5], severity=Severity.ADVICE if failing is False else None)
