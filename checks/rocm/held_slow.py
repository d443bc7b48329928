"""A GPU of AMD's is held at its lowest clocks by hand."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known, text_of
from gpudoctor.queries.amd_boards import OnBoard, boards
from gpudoctor.tasks import Edit, query

# power_dpm_force_performance_level, https://docs.kernel.org/gpu/amdgpu/thermal.html
_SLOW = {
    "low": "at its lowest clocks",
    "profile_min_sclk": "at the lowest clock of its shaders",
    "profile_min_mclk": "at the lowest clock of its memory",
}


def _fixes(on: OnBoard) -> tuple[Fix, ...]:
    path = f"/sys/bus/pci/devices/{on.address}/power_dpm_force_performance_level"
    level = text_of(on.board.performance_level) if on.board else ""
    return (
        Fix(
            "Let amdgpu choose the clocks, and look for what sets the level: a tuning program (LACT, CoreCtrl), a "
            "script, a profile of TLP or tuned.",
            (Edit(path, text="auto\n", root=True),),
            "change-environment",
            root=True,
            undo=(Edit(path, text=f"{level}\n", root=True),) if level else (),
            verify=query("cat", path),
        ),
    )


@check(
    title="An AMD GPU is held at its lowest clocks",
    severity=Severity.WARNING,
    cause="Somebody set the performance level of amdgpu by hand (rocm-smi --setperflevel low, a tuning program). The "
    "GPU then computes at a fraction of its speed, whatever the load.",
    fixes=_fixes,
    references=("https://docs.kernel.org/gpu/amdgpu/thermal.html",),
    targets=boards,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def held_slow(on: OnBoard) -> Problem | None:
    """The level is one of those that hold clocks down; auto, high, manual and the profiles of tests do not."""
    level = known(on.board.performance_level) if on.board else None
    if level not in _SLOW:
        return None
    return Problem(f"{on.name} is held {_SLOW[level]}: its performance level is {level!r}.")
