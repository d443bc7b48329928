"""A data centre's driver on a machine whose GPU is a virtual one."""

from gpudoctor.judge import Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.remedies.cloud import AZURE_DRIVERS, grid_driver
from gpudoctor.views.clouds import Rented, gpu_instances


@check(
    title="This instance type needs NVIDIA's GRID driver",
    severity=Severity.ERROR,
    cause="The machine has a share of a GPU (vGPU) or a GPU that is licensed as one. Only the GRID driver, which comes "
    "with the licence service nvidia-gridd, drives it; the data centre's driver loads and finds no GPU.",
    fixes=(grid_driver(),),
    references=(AZURE_DRIVERS, "https://docs.nvidia.com/vgpu/latest/grid-licensing-user-guide/index.html"),
    each=gpu_instances,
    because=("cloud.fewer-gpus",),
    affects=("everything",),
    seen=("table 2026-11",),
)
def grid_driver_needed(on: Rented) -> Problem | None:
    """The module is loaded, NVML lists no GPU, and the GRID driver's licence service is not installed."""
    nvidia = on.facts.nvidia
    if not on.has.grid or known(nvidia.kernel.loaded) is None:
        return None
    if known(nvidia.nvml.code) == 0 and known(nvidia.nvml.count) != 0:
        return None
    if known(nvidia.kernel.gridd) is not None:
        return None
    says = (
        f"{on.name} has a virtual GPU ({on.has.gpu}), which needs the GRID driver; driver {nvidia.kernel.loaded} lists "
        "no GPU, and its licence service nvidia-gridd is not there."
    )
    return Problem(says, (f"nvmlInit: {nvidia.nvml.code}, GPUs: {nvidia.nvml.count}",))
