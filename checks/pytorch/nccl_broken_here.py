"""The NCCL of this PyTorch has a known bug on several GPUs of this generation."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.python import install
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.knowledge.regressions import Regression, bugs
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import wheels
from gpudoctor.targets import OnLive, lives

# Before it no collective works at all.
_CERTAIN = "shared memory"


def _found(on: OnLive) -> tuple[Package, str, Regression] | None:
    """The wheel, the capability of two GPUs or more, and the bug."""
    capabilities = [g.capability for g in visible_gpus(on.facts) if g.vendor == "nvidia"]
    several = {c for c in capabilities if isinstance(c, str) and capabilities.count(c) > 1}
    pairs = ((wheel, c) for wheel in wheels(on.python, "nccl") for c in sorted(several) if wheel.version)
    return next(((w, c, bug) for w, c in pairs for bug in bugs("nccl", str(w.version), c)), None)


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    found = _found(on)
    newer = reinstall_torch(on.facts, on.python, on.framework)
    if found is None:
        return newer
    wheel, _, bug = found
    alone = Fix(
        f"Install NCCL {bug.fixed} or newer; pip warns that this PyTorch pins another release, and it works with it.",
        (install(on.python, f"{wheel.name}>={bug.fixed}"),),
        "reinstall-package",
    )
    return (alone, *newer)


@check(
    title="NCCL of this release does not work between these GPUs",
    severity=Severity.WARNING,
    cause="PyTorch brings the NCCL that it pins. Some releases have bugs on GPUs that were new when they came out: one "
    "GPU works, and programs on several hang or end with 'unhandled cuda error'.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/nccl/issues/1637",
        "https://github.com/vllm-project/vllm/issues/18814",
        "https://github.com/Nerogar/OneTrainer/pull/1020",
    ),
    targets=partial(lives, name="torch"),
    only_with=("pythons.packages.name=nvidia-nccl-cu12",),
    caused_by=("pytorch.arch-missing", "pytorch.no-gpu"),
    affects=("several-gpus",),
    validated_on=("simulated 2026-11",),
)
def nccl_broken_here(on: OnLive) -> Problem | None:
    """A release of the table, and at least two visible GPUs that it is about."""
    found = _found(on)
    if found is None:
        return None
    wheel, capability, bug = found
    message = (
        f"{wheel.name} {wheel.version}, which {on.name} uses, has a bug on several GPUs of compute capability "
        f"{capability}: {bug.what}."
    )
    return Problem(message, (bug.source,), severity=None if bug.sign == _CERTAIN else Severity.ADVICE)
