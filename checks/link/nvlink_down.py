"""NVLinks are down that are up on identical GPUs, or that are wired to NVSwitches."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.fabric import is_bridged, link_parts, multi_node, needs_manager, switches_elsewhere, wired_on_board
from gpudoctor.knowledge.gpu_peaks import nvlinks
from gpudoctor.maybe import known, text_of
from gpudoctor.queries.cause_groups import FABRIC
from gpudoctor.targets import OnGpu, gpu_name, gpus_of, nvidia_gpus, switches_of
from gpudoctor.tasks import query

_LOOK = (
    query("nvidia-smi", "nvlink", "--status"),
    query("nvidia-smi", "nvlink", "-e"),
    query("nvidia-smi", "topo", "-m"),
)


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    first = "reboot the node" if wired_on_board(on.facts, on.gpu) else "reseat the NVLink bridge"
    parts = link_parts(on.facts, on.gpu)
    message = f"Check the links and their errors; {first}; if links stay down, the {parts} has to be replaced."
    return (Fix(message, _LOOK, "replace-hardware", verify=_LOOK[0]),)


def _all_wired(on: OnGpu, up: int) -> bool:
    """Whether each of its links leads somewhere: on boards and in racks made for NVSwitches.

    Where a host keeps the switches, it may switch off all links of a guest's GPUs, and not some of them.
    """
    if on.facts.nvidia.kernel.parameters.get("NvLinkDisable") == "1" or is_bridged(on.gpu):
        return False
    if up:
        return needs_manager(on.facts)
    return (bool(switches_of(on.facts)) or multi_node(on.facts)) and not switches_elsewhere(on.facts)


_UNUSED = "traffic between GPUs uses the remaining links or PCIe."
_ON_BOARD = "A link did not train, or was disabled after errors, or its NVSwitch failed; traffic between GPUs uses "


@check(
    title="NVLinks are down",
    severity=Severity.WARNING,
    cause=f"A link did not train or was disabled after errors; {_UNUSED} All links down on a card only means that no "
    "bridge is fitted, which is no fault.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__NvLink.html",
        "https://docs.nvidia.com/health-validation/reference/checks/nvlink",
        "https://github.com/NVIDIA/NVSentinel/issues/1481",
        "https://github.com/Azure/azurehpc-health-checks/issues/162",
    ),
    targets=nvidia_gpus,
    caused_by=("device.nvlink-fault", "device.fallen-off-the-bus", "device.needs-reset", *FABRIC),
    affects=("several-gpus",),
    validated_on=("simulated 2026-11",),
)
def nvlink_down(on: OnGpu) -> Problem | None:
    """Fewer links up than on the best of the identical GPUs; of several GPUs with NVSwitches, any that is down."""
    links = known(on.gpu.nvlinks)
    if not links or all(links) or on.gpu.mig is True:
        return None
    equals = [g for g in gpus_of(on.facts, "nvidia") if g.name == on.gpu.name and isinstance(g.nvlinks, tuple)]
    best = max((sum(g.nvlinks) for g in equals if isinstance(g.nvlinks, tuple)), default=0)
    board, up, whole = wired_on_board(on.facts, on.gpu), sum(links), nvlinks(text_of(on.gpu.capability))
    alike = up == best
    short = whole is not None and up < min(whole, len(links))
    if (alike and not (short and len(equals) > 1 and _all_wired(on, up))) or not (up or board):
        return None
    other = "no GPU here has more" if alike else f"an identical GPU here has {best}"
    message = f"{gpu_name(on.gpu)} has {up} of {min(whole or len(links), len(links))} NVLinks up, {other}."
    seen = [f"links down: {', '.join(str(number) for number, works in enumerate(links[:whole]) if not works)}"]
    if up and all(g.nvlinks == links for g in equals):
        seen.append("the same links are down on each GPU here, which points to an NVSwitch")
    cause = f"{_ON_BOARD}{'the remaining links or PCIe' if up else 'PCIe'}."
    return Problem(message, tuple(seen), cause=cause if board else None)
