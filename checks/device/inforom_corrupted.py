"""The board's own storage, the InfoROM, is corrupted."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.card_firmware import ask_vendor, power_cycle
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.kernel_log import texts, xids
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import cmd


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    message = "Cold-boot and check again: this often repairs an interrupted write."
    again = power_cycle(on.facts, message, cmd("nvidia-smi", "-i", on.gpu.index))
    vendor = ask_vendor(
        "If it stays corrupted: ask the vendor for an update of the VBIOS and InfoROM, or for a new card. Until "
        "then the card computes correctly, but broken memory may not be recorded."
    )
    return (again, vendor)


@check(
    title="InfoROM is corrupted",
    severity=Severity.WARNING,
    cause="The InfoROM, a small flash chip on the card, stores its serial number, its settings (ECC, power) and the "
    "list of its broken memory. Its checksum is wrong. nvidia-smi warns ('infoROM is corrupted') and exits with code "
    "14, which scripts and the GPU Operator's validator take for a broken driver.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",
        "https://docs.nvidia.com/deploy/nvidia-smi/index.html",
    ),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset", "device.gsp-failed"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def inforom_corrupted(on: OnGpu) -> Problem | None:
    """NVML's validation; on GPUs without ECC the InfoROM stores little, and it need not be readable."""
    found = known_or(on.gpu.inforom, None) if known(on.gpu.ecc) is None else known(on.gpu.inforom)
    if found is not False:
        return None
    address = on.gpu.address if isinstance(on.gpu.address, str) else None
    logged = texts(xids(on.facts, address, 93, 122, 123, 124, 125)) if address else ()
    return Problem(f"NVML reports that the InfoROM of {gpu_name(on.gpu)} is corrupted.", logged)
