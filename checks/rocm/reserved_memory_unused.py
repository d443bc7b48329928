"""KFD lets programs use less memory than the firmware reserves for an integrated GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import kernel_packages
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.knowledge.regressions import known_bug
from gpudoctor.maybe import known, known_or, phrase, phrases, present
from gpudoctor.queries.amd_boards import INSTINCT, OnBoard, boards
from gpudoctor.queries.containers import size
from gpudoctor.tasks import Shell

_PAGE = 4096  # bytes; AMD's GPUs that share the RAM are in x86 CPUs
_GIB = 1 << 30
_REST = 4 * _GIB  # what the system keeps
# KFD's banks of a whole GPU differ from amdgpu's total by pages that the driver reserves: far less than a tenth.
_MUCH = 0.9


def _fixes(on: OnBoard) -> tuple[Fix, ...]:
    verify = Shell("grep size_in_bytes /sys/class/kfd/kfd/topology/nodes/*/mem_banks/*/properties", lookup=True)
    bug = present(known_bug("kfd", sign="GTT"))
    message = f"Install kernel {bug.fixed} or newer, or {bug.also} or newer."
    newer = kernel_packages.newer_kernel(on.facts, message, verify)
    rest = known_or(on.facts.host.memory, None)
    if rest is None:
        return (newer,)
    wanted = (rest + present(present(on.board).vram) - _REST) // _GIB * _GIB
    small = (
        f"With any kernel from {bug.first} on: let the firmware setup (BIOS) reserve only the minimum (UMA frame "
        f"buffer size, for example 512 MB), and let the GPU take up to {size(wanted)} of the RAM as it needs it."
    )
    return (newer, kernel_parameter(on.facts, small, f"ttm.pages_limit={wanted // _PAGE}", verify))


@check(
    title="ROCm sees less memory than the firmware reserves for the integrated GPU",
    severity=Severity.WARNING,
    cause="KFD of older kernels takes the compute memory of an integrated GPU from system RAM (GTT), up to TTM's "
    "limit, which is half of the RAM that the firmware has left. What the firmware reserves as VRAM is then used for "
    "graphics only. Newer kernels take the larger of the two.",
    fixes=_fixes,
    references=(
        "https://github.com/ROCm/legacy-rocm-build/issues/5444",
        "https://github.com/torvalds/linux/commit/759e764f7d587283b4e0b01ff930faca64370e59",
    ),
    targets=boards,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def reserved_memory_unused(on: OnBoard) -> Problem | None:
    """The memory of KFD's node is less than the VRAM of the card; those of MI300A are all of its memory."""
    if not known(on.card.integrated) or on.gfx in INSTINCT or len(on.gpus) != 1:
        return None
    memory, reserved = known(on.gpus[0].memory), known(present(on.board).vram)
    if not memory or not reserved or memory > reserved * _MUCH:
        return None
    kernel = phrase(" by kernel {}", on.facts.host.kernel.release)
    message = (
        f"ROCm gets {size(memory)} of memory on {on.within}, although the firmware reserves {size(reserved)} for it: "
        f"the reserved memory is not given to programs{kernel}."
    )
    evidence = phrases(
        phrase("mem_info_vram_total: {}", reserved), phrase("size_in_bytes of KFD's memory bank: {}", memory)
    )
    return Problem(message, evidence)
