"""A GPU waits for a reset to replace broken memory rows."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.card_firmware import REPLACE_CARD, ask_vendor
from gpudoctor.fixes.reset import reset_commands
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.kernel_log import texts
from gpudoctor.tasks import query

# As many as a bank has spare rows (A100 memory error management): no longer single rows, but a part that fails.
_SPARE = 8
_FAILING = (
    "The GPU replaces a row of its memory after each uncorrectable error (row remapping, Xid 63), at its next reset. "
    "Single rows fail on healthy cards; this many mean that a part of the memory is defective: the next row fails soon "
    "after the reset, and each time a program is lost."
)
_UNCORRECTED = (
    "The GPU had an uncorrectable memory error and will replace the broken row with a spare one at its next reset (row "
    "remapping, Xid 63). Until then the error can come back."
)
_CORRECTED = (
    "Correctable errors recurred in a row of the GPU's memory, and it will replace that row with a spare one at its "
    "next reset (row remapping, Xid 63). ECC corrected them: no data were lost."
)
# Uncorrectable errors: a double-bit error, and one that was contained or not.
_LOSSES = (48, 94, 95)


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    message = "Drain the GPU (no program may use it), then reset it, or reboot; the rows are replaced then."
    verify = query("nvidia-smi", "-q", "-d", "ROW_REMAPPER", "-i", on.number)
    reset = Fix(message, reset_commands(on), "reset-gpu", root=True, verify=verify)
    if _rows(on) >= _SPARE:
        return (*REPLACE_CARD, reset)
    return (reset, ask_vendor("If it happens again: have the card replaced (RMA), with a report for the vendor."))


def _rows(on: OnAddress) -> int:
    """How many rows uncorrectable errors have cost so far."""
    count = on.gpu.remapped_uncorrected if on.gpu is not None else None
    return count if isinstance(count, int) else 0


@check(
    title="Row remapping pending: the GPU needs a reset to repair its memory",
    severity=Severity.WARNING,
    cause="A row of the GPU's memory had an uncorrectable error, or correctable ones again and again; the GPU replaces "
    "it with a spare row at its next reset (row remapping, Xid 63). Until then the errors can come back.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html",
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",
    ),
    targets=nvidia_addresses,
    only_with=("log.events.kind=xid gpus.remap_pending",),
    caused_by=("device.row-remap-failed", "device.fallen-off-the-bus"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def row_remap_pending(on: OnAddress) -> Problem | None:
    """NVML's flag; without it Xid 63 in the log."""
    logged = on.xids(63)
    pending = on.gpu.remap_pending if on.gpu is not None else None
    if pending is not True and (pending is False or not logged or _retires_pages(on)):
        return None
    message, evidence = f"{on.name} has a row remapping pending: it needs a reset.", (*logged, *on.xids(*_LOSSES))
    if _rows(on) < _SPARE:
        return Problem(message, texts(evidence), _cause(on))
    message += (
        f" Uncorrectable errors have cost {_rows(on)} rows so far: its memory (HBM) keeps failing, and a reset repairs "
        "only the last row."
    )
    return Problem(message, texts((*evidence, *on.xids(171, 172))), _FAILING)


def _cause(on: OnAddress) -> str | None:
    """Which errors it were, where NVML's counts or the log show it (nvmlDeviceGetRemappedRows: corrRows, uncRows)."""
    gpu = on.gpu
    if _rows(on) or on.logged_xids(*_LOSSES):
        return _UNCORRECTED
    corrected = gpu.remapped_corrected if gpu is not None and gpu.remapped_uncorrected == 0 else None
    return _CORRECTED if isinstance(corrected, int) and corrected else None


def _retires_pages(on: OnAddress) -> bool:
    """Whether this GPU retires pages instead of remapping rows, as those before Ampere do."""
    return on.gpu is not None and isinstance(on.gpu.retired_pending, bool)
