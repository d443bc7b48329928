"""The board's own storage, the InfoROM, is corrupted."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.kernel_log import texts, xids
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import as_root, cmd, query


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    again = Fix(
        "Cold-boot and check again: this often repairs an interrupted write.",
        (as_root("poweroff"),),
        "power-cycle",
        root=True,
        needs="reboot",
        verify=cmd("nvidia-smi", "-i", on.gpu.index),
    )
    vendor = Fix(
        "If it stays corrupted: ask the vendor for an update of the VBIOS and InfoROM, or for a new card. Until "
        "then the card computes correctly, but broken memory may not be recorded.",
        (query("nvidia-bug-report.sh", root=True),),
        "ask-vendor",
        root=True,
        impact="none",
    )
    return (again, vendor)


@check(
    title="InfoROM is corrupted",
    severity=Severity.WARNING,
    cause="The InfoROM, a small flash chip on the card, stores its serial number, its settings (ECC, power) and the "
    "list of its broken memory. Its checksum is wrong; nvidia-smi warns about it, too.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",
        "https://docs.nvidia.com/deploy/nvidia-smi/index.html",
    ),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset", "device.gsp-failed"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def inforom_corrupted(on: OnGpu) -> Problem | None:
    """NVML's validation, which is only read for GPUs with ECC: on others the InfoROM stores nothing important."""
    if known(on.gpu.ecc) is None or known(on.gpu.inforom) is not False:
        return None
    address = on.gpu.address if isinstance(on.gpu.address, str) else None
    logged = texts(xids(on.facts, address, 93, 122, 123, 124, 125)) if address else ()
    return Problem(f"NVML reports that the InfoROM of {gpu_name(on.gpu)} is corrupted.", logged)
