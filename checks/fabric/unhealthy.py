"""A GPU has joined the NVLink fabric, and the fabric is unhealthy."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import fabric
from gpudoctor.fixes.card_firmware import ask_vendor
from gpudoctor.fixes.reset import reset
from gpudoctor.maybe import known, known_or
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import filtered, query

# What the mask of NVML's fabric health means, and its summary. A manager that is briefly away and a GPU without
# partition (shared boards) are no fault.
_FAULTS = {
    "degraded-bandwidth": "its bandwidth is degraded",
    "route-unhealthy": "a route through the switches is broken",
    "insufficient-nvlinks": "too few of the GPU's links are up",
    "incompatible-gpu-firmware": "the GPU's firmware does not match the fabric",
    "incorrect-system-guid": "the GPU's system GUID is not the rack's",
    "incorrect-chassis-serial": "the GPU's chassis serial number is not the rack's",
    "invalid-location": "the GPU's location in the rack is not valid",
    "gpu-state-invalid": "the GPU is in a state that the fabric does not accept",
    "unhealthy": "the driver gives no reason",
    "limited-capacity": "its capacity is limited",
}
# While one runs, traffic over NVLink waits; it ends by itself, or as a fault.
_RECOVERIES = {"route-recovery": "routes", "access-timeout-recovery": "accesses that timed out"}


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    look = filtered(query("nvidia-smi", "-q"), query("grep", "-A12", "Fabric"))
    if _recovering(on):
        wait = "Wait until the recovery ends; start no multi-GPU program before."
        return (Fix(wait, (look,), impact="none", verify=look),)
    rack = fabric.multi_node(on.facts)
    log = () if rack else (query("journalctl", "-u", fabric.UNIT, "-n", "30"),)
    where = "the rack's NVLink controller" if rack else "the fabric manager's log"
    first = Fix(
        f"Check the links and {where}; drain the GPU, then reset it or reboot the node.",
        (
            look,
            query("nvidia-smi", "nvlink", "--status"),
            *log,
            *reset(on.facts, on.gpu.index),
        ),
        "reset-gpu",
        root=True,
        verify=look,
    )
    return (first, ask_vendor("If it stays: have the vendor check links, cables, switches and the board."))


def _recovering(on: OnGpu) -> tuple[str, ...]:
    """The recoveries that run; none where the fabric has faults, too."""
    health = known_or(on.gpu.fabric_health, None) or ()
    return () if any(name in _FAULTS for name in health) else tuple(name for name in health if name in _RECOVERIES)


@check(
    title="NVLink fabric of a GPU is unhealthy",
    severity=Severity.WARNING,
    cause="The driver reports the fabric's health: links that are down, routes that are broken, firmware that does "
    "not match. Programs on one GPU run; multi-GPU programs are slow or fail.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlFabricDefs.html",),
    targets=nvidia_gpus,
    caused_by=(
        "device.nvlink-fault",
        "device.fallen-off-the-bus",
        "device.needs-reset",
        "fabric.manager-down",
        "fabric.manager-mismatch",
    ),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def unhealthy(on: OnGpu) -> Problem | None:
    """The health mask of a GPU that has joined; drivers before 550 report none."""
    if known(on.gpu.fabric_state) != "completed":
        return None
    faulty = [name for name in known(on.gpu.fabric_health) or () if name in _FAULTS]
    if running := _recovering(on):
        what = " and ".join(_RECOVERIES[name] for name in running)
        message = f"The NVLink fabric of {gpu_name(on.gpu)} is recovering {what}."
        return Problem(message, tuple(f"fabric health: {name}" for name in running), severity=Severity.ADVICE)
    if not faulty:
        return None
    verdict = "reduced" if faulty == ["limited-capacity"] else "unhealthy"
    message = f"The NVLink fabric of {gpu_name(on.gpu)} is {verdict}: {'; '.join(_FAULTS[name] for name in faulty)}."
    return Problem(message, tuple(f"fabric health: {name}" for name in faulty))
