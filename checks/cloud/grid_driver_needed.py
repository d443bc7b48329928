"""A driver of another kind, or too old, on a machine whose GPU is a virtual one."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.fixes.cloud import AZURE_DRIVERS, grid_driver
from gpudoctor.maybe import known, phrase
from gpudoctor.queries.clouds import Rented, gpu_instances

# nvmlInit's results of a driver that found no GPU: success (an empty list), driver not loaded, unknown.
_NO_GPU = (0, 9, 999)


@check(
    title="This instance type needs NVIDIA's GRID driver",
    severity=Severity.ERROR,
    cause="The machine has a share of a GPU (vGPU) or a GPU that is licensed as one. Only the GRID driver works on "
    "it, of the release family of the cloud's hosts or the one before; the data center driver, or an old GRID "
    "driver, loads and finds no GPU.",
    fixes=(grid_driver(),),
    references=(
        AZURE_DRIVERS,
        "https://github.com/dstackai/dstack/issues/1014",
        "https://github.com/canonical/ubuntu-drivers-common/issues/92",
        "https://github.com/MicrosoftDocs/azure-docs/issues/121599",
    ),
    targets=gpu_instances,
    caused_by=("cloud.fewer-gpus", "driver.*"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def grid_driver_needed(on: Rented) -> Problem | None:
    """The module is loaded, and NVML lists no GPU; a mismatch or a closed node is a problem of any driver."""
    nvidia = on.facts.nvidia
    if not on.has.grid:
        return None
    loaded = known(nvidia.kernel.loaded)
    if loaded is None:
        return None
    code = known(nvidia.nvml.code)
    if code not in _NO_GPU or (code == 0 and known(nvidia.nvml.count) != 0):
        return None
    message = (
        f"{on.name} has a virtual GPU ({on.has.gpu}), which needs a current GRID driver; driver {loaded} lists no GPU."
    )
    return Problem(message, (f"nvmlInit: {code}" + phrase(", GPUs: {}", nvidia.nvml.count),))
