"""A bank of a GPU's memory has no spare row left."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.maybe import known
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import query


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    look = query("nvidia-smi", "-q", "-d", "ROW_REMAPPER,ECC", "-i", on.gpu.index)
    return (
        Fix(
            "Watch the card and plan its replacement: NVIDIA accepts an RMA once a remapping fails (Xid 64).",
            (look, query("dcgmi", "diag", "-r", "3", root=True)),
            "ask-vendor",
            root=True,
            impact="none",
            verify=look,
        ),
    )


@check(
    title="No spare memory rows left in a bank of the GPU",
    severity=Severity.WARNING,
    cause="The GPU replaces broken rows of its memory with spare ones, of which each bank has eight. One bank has "
    "none left: the next uncorrectable error there cannot be repaired.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html",),
    targets=nvidia_gpus,
    caused_by=("device.row-remap-failed", "device.fallen-off-the-bus"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def spare_rows_used_up(on: OnGpu) -> str | None:
    """NVML's histogram of the banks; GPUs before Ampere have none."""
    if not known(on.gpu.ecc):
        return None
    banks = known(on.gpu.banks_without_spares)
    if not banks:
        return None
    rows = on.gpu.remapped_uncorrected
    are = "row is" if rows == 1 else "rows are"
    count = f" ({rows} {are} remapped after uncorrectable errors)" if isinstance(rows, int) and rows else ""
    where = "one bank" if banks == 1 else f"{banks} banks"
    return f"{gpu_name(on.gpu)} has no spare rows left in {where} of its memory{count}."
