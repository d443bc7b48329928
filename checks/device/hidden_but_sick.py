"""An unhealthy GPU that CUDA_VISIBLE_DEVICES hides is still visible to the driver and to NVML."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import as_root, query
from gpudoctor.tasks.placeholders import ADDRESS


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    address = on.gpu.address if isinstance(on.gpu.address, str) else ADDRESS
    drain = ("nvidia-smi", "drain", "-p", address, "-m")
    message = (
        "Until it is repaired, hide it from the driver too (drain), so that nothing uses it; no program may be "
        "running on it."
    )
    return (
        Fix(message, (as_root(*drain, 1),), root=True, undo=(as_root(*drain, 0),), verify=query("nvidia-smi", "-L")),
    )


@check(
    title="Unhealthy GPU is hidden by CUDA_VISIBLE_DEVICES, but still on the bus",
    severity=Severity.WARNING,
    cause="CUDA_VISIBLE_DEVICES hides a GPU from programs; the driver, nvidia-smi, and whatever lists links and "
    "topology (NCCL) still see it, and may hang or fail on it.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables",
        "https://docs.nvidia.com/deploy/nvidia-smi/index.html",
    ),
    targets=nvidia_gpus,
    caused_by=(
        "device.fallen-off-the-bus",
        "device.needs-reset",
        "device.xid-hardware",
        "device.ecc-uncorrected",
        "device.row-remap-failed",
        "device.gsp-failed",
        "device.nvlink-fault",
    ),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def hidden_but_sick(on: OnGpu) -> str | None:
    """A mask by numbers that leaves this GPU out, and a status that is not healthy."""
    mask = on.facts.host.environment.get("CUDA_VISIBLE_DEVICES")
    if mask is None or on.gpu.status not in ("lost", "reset-required"):
        return None
    words = [word.strip() for word in mask.split(",") if word.strip()]
    if not words or not all(word.isdigit() for word in words) or str(on.gpu.index) in words:
        return None
    return (
        f"CUDA_VISIBLE_DEVICES={mask} hides {gpu_name(on.gpu)}, which is unhealthy ({on.gpu.status}) and still on "
        "the bus."
    )
