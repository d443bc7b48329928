"""PyTorch is killed by a signal."""

from gpudoctor.check_engine import Fix
from gpudoctor.checks.pytorch import PYTORCH
from gpudoctor.families import starting
from gpudoctor.fixes.imports import outside
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.targets import OnLive


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    return outside(on.live) or reinstall_torch(on.facts, on.python, on.framework)


import_crashes = starting.crashes(
    PYTORCH, __name__, fixes=_fixes, own=("intel.level-zero-mismatch",), validated_on=("facts 2026-11",)
)
