"""A driver of another kind, or too old, on a machine whose GPU is a virtual one."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.fixes.cloud import AZURE_DRIVERS, grid_driver
from gpudoctor.maybe import known, phrase
from gpudoctor.queries.clouds import Rented, virtual_gpus
from gpudoctor.queries.driver import disk_version
from gpudoctor.queries.kernel_log import events, texts

# nvmlInit's results of a driver that found no GPU: success (an empty list), driver not loaded, unknown.
_NO_GPU = (0, 9, 999)


@check(
    title="This instance type needs NVIDIA's GRID driver",
    severity=Severity.ERROR,
    cause="The machine has a share of a GPU (vGPU) or a GPU that is licensed as one. Only the GRID driver works on "
    "it, of the release family of the cloud's hosts or the one before; the data center driver, or an old GRID "
    "driver, finds no GPU that it supports: it is loaded and lists none, or its module refuses the GPU when it loads.",
    fixes=(grid_driver(),),
    references=(
        AZURE_DRIVERS,
        "https://github.com/dstackai/dstack/issues/1014",
        "https://github.com/canonical/ubuntu-drivers-common/issues/92",
        "https://github.com/MicrosoftDocs/azure-docs/issues/121599",
        "https://github.com/Azure/azhpc-images/issues/398",
    ),
    targets=virtual_gpus,
    caused_by=("cloud.fewer-gpus", "driver.*"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def grid_driver_needed(on: Rented) -> Problem | None:
    """NVML lists no GPU, or the module refused it; a mismatch or a closed node is a problem of any driver."""
    nvidia = on.facts.nvidia
    loaded = known(nvidia.kernel.loaded)
    if loaded is None:
        return _refused(on)
    code = known(nvidia.nvml.code)
    if code not in _NO_GPU or (code == 0 and known(nvidia.nvml.count) != 0):
        return None
    return Problem(
        f"{_needs(on)}; driver {loaded} lists no GPU.",
        (f"nvmlInit: {code}" + phrase(", GPUs: {}", nvidia.nvml.count),),
    )


def _needs(on: Rented) -> str:
    return f"{on.name} has a virtual GPU ({on.has.gpu}), which needs a current GRID driver"


def _refused(on: Rented) -> Problem | None:
    """The module was loaded for the GPU, and its probe failed: it is gone again."""
    version = known(disk_version(on.facts))
    if not version:
        return None
    said = events(on.facts, "probe-failed", "no-device-probed")
    if not said:
        known(on.facts.log.events)
        return None
    return Problem(f"{_needs(on)}; the module {version} on disk refused the GPU.", texts(said))
