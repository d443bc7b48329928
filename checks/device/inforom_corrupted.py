"""The board's own store, the InfoROM, is damaged."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.kernel_log import texts, xids
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import as_root, cmd, query


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    again = Fix(
        "Restart the computer from cold and look again: a write that was cut short is often mended then.",
        (as_root("poweroff"),),
        "power-cycle",
        root=True,
        needs="reboot",
        verify=cmd("nvidia-smi", "-i", on.gpu.index),
    )
    vendor = Fix(
        "If it stays: ask the vendor for an update of the VBIOS and InfoROM, or for a new card; the card computes "
        "right meanwhile, but broken memory may not be recorded.",
        (query("nvidia-bug-report.sh", root=True),),
        "ask-vendor",
        root=True,
        impact="none",
    )
    return (again, vendor)


@check(
    title="A GPU's InfoROM is damaged",
    severity=Severity.WARNING,
    cause="The InfoROM, a small flash on the card, holds its serial number, its settings (ECC, power) and the list of "
    "its broken memory. Its checksum is wrong; nvidia-smi warns of it, too.",
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
    """NVML's validation, which is asked of GPUs with ECC alone: elsewhere nothing of weight lies in it."""
    if known(on.gpu.ecc) is None or known(on.gpu.inforom) is not False:
        return None
    address = on.gpu.address if isinstance(on.gpu.address, str) else None
    said = texts(xids(on.facts, address, 93, 122, 123, 124, 125)) if address else ()
    return Problem(f"The InfoROM of {gpu_name(on.gpu)} is damaged, says NVML.", said)
