"""An AMD GPU is manually locked to its lowest clocks."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known, text_of
from gpudoctor.queries.amd_boards import OnBoard, boards
from gpudoctor.tasks import Edit, query

# power_dpm_force_performance_level, https://docs.kernel.org/gpu/amdgpu/thermal.html
_SLOW = {
    "low": "at its lowest clocks",
    "profile_min_sclk": "at its lowest shader clock",
    "profile_min_mclk": "at its lowest memory clock",
}


def _fixes(on: OnBoard) -> tuple[Fix, ...]:
    path = f"/sys/bus/pci/devices/{on.address}/power_dpm_force_performance_level"
    level = text_of(on.board.performance_level) if on.board else ""
    return (
        Fix(
            "Let amdgpu choose the clocks, and find what sets the level: a tuning tool (LACT, CoreCtrl), a script, a "
            "TLP or tuned profile.",
            (Edit(path, text="auto\n", root=True),),
            "change-environment",
            root=True,
            undo=(Edit(path, text=f"{level}\n", root=True),) if level else (),
            verify=query("cat", path),
        ),
    )


@check(
    title="AMD GPU is locked to its lowest clocks",
    severity=Severity.WARNING,
    cause="The amdgpu performance level was set by hand (rocm-smi --setperflevel low, a tuning tool). The GPU then "
    "runs at a fraction of its speed, whatever the load.",
    fixes=_fixes,
    references=("https://docs.kernel.org/gpu/amdgpu/thermal.html",),
    targets=boards,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def held_slow(on: OnBoard) -> Problem | None:
    """The level is one of those that keep clocks low; auto, high, manual and the test profiles do not."""
    level = known(on.board.performance_level) if on.board else None
    if level not in _SLOW:
        return None
    return Problem(f"{on.name} is locked {_SLOW[level]}: its performance level is {level!r}.")
