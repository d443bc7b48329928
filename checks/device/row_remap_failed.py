"""A GPU could not replace broken memory rows."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.fixes.card_firmware import REPLACE_CARD
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.kernel_log import texts

_RETIRING = ("Kepler", "Maxwell", "Pascal", "Volta", "Turing")


def _retires(on: OnAddress) -> bool:
    return on.card is not None and on.card.generation in _RETIRING


@check(
    title="Row remapping or page retirement failed: the GPU's memory cannot be repaired",
    severity=Severity.ERROR,
    cause="The GPU replaces broken memory rows with spare ones; before Ampere the driver retires the memory pages "
    "with them. None are left, or the repair could not be recorded (Xid 64): NVIDIA's criterion for replacing the "
    "card.",
    fixes=REPLACE_CARD,
    references=(
        "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html",
        "https://docs.nvidia.com/deploy/dynamic-page-retirement/index.html",
        "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
    ),
    targets=nvidia_addresses,
    only_with=("log.events.kind=xid gpus.remap_failed",),
    caused_by=("device.fallen-off-the-bus",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def row_remap_failed(on: OnAddress) -> Problem | None:
    """NVML's flag, or Xid 64 in the log."""
    logged, flagged = on.xids(64), on.gpu is not None and on.gpu.remap_failed is True
    if not flagged and not logged:
        return None
    count = on.gpu.remapped_uncorrected if on.gpu is not None else None
    were = "row was" if count == 1 else "rows were"
    rows = f" ({count} {were} remapped after uncorrectable errors)" if isinstance(count, int) and count else ""
    # Row remapping came with Ampere.
    what = "retirement of a broken memory page" if _retires(on) else "remapping of a broken memory row"
    return Problem(f"{on.name}: {what} failed{rows}.", texts((*logged, *on.xids(48, 94, 95))))
