"""The compute mode of a GPU allows no CUDA process."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.targets import OnGpu, gpu_name, gpus_of, nvidia_gpus
from gpudoctor.tasks import as_root, query


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    index = on.gpu.index
    return (
        Fix(
            "Allow CUDA on the GPU again.",
            (as_root("nvidia-smi", "-i", index, "-c", "0"),),
            "change-environment",
            root=True,
            undo=(as_root("nvidia-smi", "-i", index, "-c", "2"),),
            verify=query("nvidia-smi", "-i", index, "--query-gpu=compute_mode", "--format=csv"),
        ),
    )


@check(
    title="GPU compute mode is Prohibited: CUDA cannot use it",
    severity=Severity.ERROR,
    cause="In the compute mode Prohibited a GPU accepts no CUDA process; an administrator set it, often to keep a "
    "display GPU free.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html",),
    targets=nvidia_gpus,
    caused_by=("device.fallen-off-the-bus", "device.needs-reset"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def prohibited_mode(on: OnGpu) -> Problem | None:
    """The mode; with another GPU that allows CUDA it is only a warning."""
    if known(on.gpu.compute_mode) != "prohibited":
        return None
    free = any(g.compute_mode != "prohibited" for g in gpus_of(on.facts, "nvidia"))
    message = f"{gpu_name(on.gpu)} is in the compute mode Prohibited: no CUDA program can run on it."
    return Problem(message, severity=Severity.WARNING if free else None)
