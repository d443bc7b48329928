"""NVLinks are down that are up on identical GPUs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.cause_groups import FABRIC
from gpudoctor.targets import OnGpu, gpu_name, gpus_of, nvidia_gpus, switches_of
from gpudoctor.tasks import query

_FIXES = (
    Fix(
        "Check the links and their errors; reseat the NVLink bridge, or on a board with NVSwitch reboot the node; "
        "if links stay down, the bridge, board or GPU has to be replaced.",
        (
            query("nvidia-smi", "nvlink", "--status"),
            query("nvidia-smi", "nvlink", "-e"),
            query("nvidia-smi", "topo", "-m"),
        ),
        "replace-hardware",
        verify=query("nvidia-smi", "nvlink", "--status"),
    ),
)


def _on_board(on: OnGpu) -> bool:
    """Whether the links are wires of the board; cards have them by bridges, which need not be on all of them."""
    switched = bool(switches_of(on.facts)) or on.gpu.fabric_state in ("completed", "in-progress", "not-started")
    return switched or (isinstance(on.gpu.name, str) and "SXM" in on.gpu.name)


@check(
    title="NVLinks are down",
    severity=Severity.WARNING,
    cause="A link did not train or was disabled after errors; traffic between GPUs uses the remaining links or PCIe. "
    "All links down on a card only means that no bridge is fitted, which is no fault.",
    fixes=_FIXES,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__NvLink.html",
        "https://github.com/NVIDIA/NVSentinel/issues/1481",
    ),
    targets=nvidia_gpus,
    caused_by=("device.nvlink-fault", "device.fallen-off-the-bus", "device.needs-reset", *FABRIC),
    affects=("several-gpus",),
    validated_on=("simulated 2026-11",),
)
def nvlink_down(on: OnGpu) -> Problem | None:
    """Fewer links up than on the best of the identical GPUs."""
    links = known(on.gpu.nvlinks)
    if not links or all(links) or on.gpu.mig is True:
        return None
    equals = [g for g in gpus_of(on.facts, "nvidia") if g.name == on.gpu.name and isinstance(g.nvlinks, tuple)]
    best = max((sum(g.nvlinks) for g in equals if isinstance(g.nvlinks, tuple)), default=0)
    if sum(links) >= best or not (any(links) or _on_board(on)):
        return None
    down = [str(number) for number, up in enumerate(links) if not up]
    message = f"{gpu_name(on.gpu)} has {sum(links)} of {len(links)} NVLinks up, an identical GPU here has {best}."
    return Problem(message, (f"links down: {', '.join(down)}",))
