"""Programs reached for memory on the GPU that is not theirs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.queries.amd_boards import OnBoard, logged_boards, since_loaded
from gpudoctor.queries.kernel_log import ago, texts
from gpudoctor.tasks import cmd
from gpudoctor.tasks.placeholders import REST


@check(
    title="A program was ended by a page fault on the GPU",
    severity=Severity.ADVICE,
    cause="A kernel reached for an address that its program does not own; the runtime then ends the program with "
    "'Memory access fault by GPU node'. Nearly always the program, or a library with kernels for another gfx target, "
    "is wrong, and not the machine.",
    fixes=(
        Fix(
            "Run the program again with blocking launches, so that the error stands at the call that made it.",
            (
                cmd(
                    "python3",
                    REST,
                    env=(
                        ("AMD_SERIALIZE_KERNEL", "3"),
                        ("HIP_LAUNCH_BLOCKING", "1"),
                    ),
                ),
            ),
            "change-environment",
            impact="none",
        ),
        Fix(
            "If programs fail that ran before: go back to the versions of framework and driver that worked, and unset "
            "HSA_OVERRIDE_GFX_VERSION.",
            (),
            "reinstall-package",
        ),
    ),
    references=(
        "https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/debugging.html",
        "https://docs.kernel.org/gpu/amdgpu/debugging.html",
    ),
    targets=logged_boards,
    caused_by=(
        "rocm.hangs",
        "rocm.reset-failed",
        "rocm.uncorrectable-errors",
        "rocm.override-of-another-isa",
        "rocm.override-left-on",
    ),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def page_faults(on: OnBoard) -> Problem | None:
    """The log names faults of the GPU's address translation."""
    faults = since_loaded(on, "amdgpu-fault")
    if not faults:
        return None
    named = (*faults, *since_loaded(on, "amdgpu-culprit"))
    who = sorted({e.what["process"] for e in named if "process" in e.what})
    program = " and ".join(who[:3]) or "A program"
    return Problem(f"{program} met a page fault on {on.within}{ago(on.facts, faults[-1])}.", texts(faults[-3:]))
