"""Programs accessed GPU memory that is not theirs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import amd
from gpudoctor.queries.amd_boards import OnBoard, logged_boards, since_loaded
from gpudoctor.queries.kernel_log import ago, texts
from gpudoctor.tasks import cmd
from gpudoctor.tasks.placeholders import REST

_FIRMWARE = (
    "The scheduler firmware (MES) in the firmware package has a bug for this GPU, so that every program ends in a page "
    "fault of the command processor (CPF); the releases before or after it work. Known: MES 0x83 of linux-firmware "
    "20251125 on gfx1151."
)
_PROGRAM = (
    Fix(
        "Rerun the program with blocking launches, so that the error appears at the call that caused it.",
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
        "If programs fail that used to work: go back to the framework and driver versions that worked, and unset "
        "HSA_OVERRIDE_GFX_VERSION.",
        (),
        "reinstall-package",
    ),
)


def _fetches(on: OnBoard) -> bool:
    """Whether the GPU's command processor faulted by itself, for more than one program.

    CPF fetches what the scheduler firmware (MES, HWS) points it to; a program's own bad access comes from the shader
    caches (TCP, SQC).
    """
    clients = since_loaded(on, "amdgpu-fault-client")
    faults = since_loaded(on, "amdgpu-fault")
    return len(faults) > 1 and len(clients) > 1 and all(e.what.get("text", "").startswith("CP") for e in clients)


def _fixes(on: OnBoard) -> tuple[Fix, ...]:
    if not _fetches(on):
        return _PROGRAM
    newer = amd.newer_firmware(on.facts, "Install the distribution's newest firmware for AMD GPUs.")
    return (newer, *amd.older_firmware(on.facts))


@check(
    title="GPU page fault killed a program (Memory access fault by GPU node)",
    severity=Severity.ADVICE,
    cause="A kernel accessed an address that its program does not own; the runtime then kills the program with "
    "'Memory access fault by GPU node'. The bug is nearly always in the program, or in a library with kernels for "
    "another gfx target, not in the machine.",
    fixes=_fixes,
    references=(
        "https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/debugging.html",
        "https://docs.kernel.org/gpu/amdgpu/debugging.html",
        "https://github.com/ROCm/legacy-rocm-build/issues/5724",
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
    validated_on=("simulated 2026-11",),
)
def page_faults(on: OnBoard) -> Problem | None:
    """The log has faults of the GPU's address translation."""
    faults = since_loaded(on, "amdgpu-fault")
    if not faults:
        return None
    named = (*faults, *since_loaded(on, "amdgpu-culprit"))
    who = sorted({e.what["process"] for e in named if "process" in e.what})
    program = " and ".join(who[:3]) or "A program"
    message = f"{program} hit a page fault on {on.within}{ago(on.facts, faults[-1])}."
    if not _fetches(on):
        return Problem(message, texts(faults[-3:]))
    clients = since_loaded(on, "amdgpu-fault-client")
    message += " The GPU's command processor faulted, not a kernel of the programs: its firmware is likely broken."
    return Problem(message, texts((*faults[-3:], clients[-1])), _FIRMWARE, Severity.WARNING)
