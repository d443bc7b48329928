"""A GPU had more errors in its on-chip memory than NVIDIA tolerates."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.card_firmware import HAVE_REPLACED
from gpudoctor.maybe import known
from gpudoctor.queries.kernel_log import texts, xids
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import query

_FIXES = (
    Fix(
        "Take the GPU out of service and run NVIDIA's field diagnostics, or dcgmi's longest test.",
        (query("nvidia-smi", "-q", "-d", "ECC"), query("dcgmi", "diag", "-r", "4", root=True)),
        "replace-hardware",
        root=True,
        impact="none",
    ),
    HAVE_REPLACED,
)


@check(
    title="Too many errors in the GPU's on-chip memory (SRAM)",
    severity=Severity.ERROR,
    cause="Caches and registers of the GPU (SRAM) have no spare parts. The driver counts their uncorrectable errors "
    "over the card's lifetime; above NVIDIA's threshold the card has to be tested with the field diagnostics and "
    "replaced.",
    fixes=_FIXES,
    references=(
        "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
        "https://docs.nvidia.com/deploy/nvml-api/structnvmlEccSramErrorStatus__v1__t.html",
    ),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus",),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def sram_errors(on: OnGpu) -> Problem | None:
    """The driver's own flag; only GPUs with ECC count."""
    if not known(on.gpu.ecc) or not known(on.gpu.sram_threshold):
        return None
    total = on.gpu.ecc_uncorrected_total
    count = f" ({total} uncorrectable errors in its lifetime)" if isinstance(total, int) and total else ""
    message = f"{gpu_name(on.gpu)} has had more uncorrectable SRAM errors than NVIDIA tolerates{count}."
    address = on.gpu.address if isinstance(on.gpu.address, str) else None
    return Problem(message, texts(xids(on.facts, address, 48, 172)) if address else ())
