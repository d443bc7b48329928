"""NVML lists some of the GPUs on PCI, not all."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, PciDevice
from gpudoctor.fixes.card_firmware import power_cycle
from gpudoctor.fixes.cloud import MOVES, another_host
from gpudoctor.maybe import Unknown, known
from gpudoctor.queries.cards import card_name, works
from gpudoctor.queries.cause_groups import DEAD, OTHER_DRIVERS, UNFIT
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import cards_of, gpus_of, in_container
from gpudoctor.tasks import Edit, Task, filtered, query

_AGAIN = Fix(
    "Read the kernel log for this GPU, then reboot. If it stays missing, power-cycle the machine and reseat the card.",
    (filtered(query("dmesg", root=True), query("grep", "-E", "NVRM|Xid")),),
    "reboot",
    root=True,
    needs="reboot",
    verify=query("nvidia-smi", "-L"),
)
_REPLACE = Fix(
    "If it is refused again after a power cycle, have this GPU replaced (RMA): another driver does not help.",
    (),
    "replace-hardware",
    impact="none",
)
_REFUSALS = ("probe-failed", "nvrm-gpu-named")


def _opened(facts: Facts) -> int | None:
    """How many of the nodes /dev/nvidiaN can be opened: a job or container with some of the GPUs has only theirs."""
    nodes = facts.nvidia.kernel.nodes
    if isinstance(nodes, Unknown):
        return None
    numbered = [n for n in nodes if n.path.removeprefix("/dev/nvidia").isdigit()]
    return sum(n.error is None for n in numbered)


def _unbound(facts: Facts) -> list[PciDevice]:
    """The cards without a driver, while the driver runs others with the same PCI ID."""
    cards = cards_of(facts, "nvidia")
    running = {card.device for card in cards if works(facts, card)}
    return [card for card in cards if card.driver is None and card.device in running]


def _refused(facts: Facts) -> list[PciDevice]:
    """Those of them that the kernel log names."""
    named = {event.gpu for event in events(facts, *_REFUSALS)}
    return [card for card in _unbound(facts) if card.address in named]


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if not _refused(facts):
        return (*_bind(facts), _AGAIN)
    if hypervisor(facts) and not in_container(facts):
        return (power_cycle(facts, ""), _REPLACE)
    return (another_host(facts),) if facts.cloud.provider in MOVES else (_AGAIN, _REPLACE)


def _bind(facts: Facts) -> tuple[Fix, ...]:
    """A virtual machine that stopped can leave its GPU without a driver, and with vfio-pci's name on it."""
    left = _unbound(facts)
    if not left or in_container(facts):
        return ()
    tasks: list[Task] = []
    for card in left[:4]:
        tasks.append(Edit(f"/sys/bus/pci/devices/{card.address}/driver_override", text="\n", root=True))
        tasks.append(Edit("/sys/bus/pci/drivers_probe", text=f"{card.address}\n", root=True))
    message = "If a virtual machine had the GPU before, and does not run: bind the GPU to nvidia again."
    return (Fix(message, tuple(tasks), "reload-module", root=True, verify=query("nvidia-smi", "-L")),)


@check(
    title="nvidia-smi lists fewer GPUs than the PCI bus (lspci)",
    severity=Severity.ERROR,
    cause="The driver could not initialize one of several GPUs, or it was excluded or drained.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",
        "https://github.com/canonical/lxd/issues/12128",
    ),
    targets=own_kernel,
    caused_by=(*DEAD, *OTHER_DRIVERS, *UNFIT, "device.xid-hardware"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def gpus_missing(facts: Facts) -> Problem | None:
    """The cards bound to nvidia, without those that NVML lists or that are excluded by name."""
    listed = {g.address for g in gpus_of(facts, "nvidia")}
    if not listed or known(facts.nvidia.nvml.code) != 0 or facts.nvidia.kernel.parameters.get("ExcludedGpus"):
        return None
    count, cards = known(facts.nvidia.nvml.count), cards_of(facts, "nvidia")
    ours = [c for c in cards if c.driver == "nvidia" and c.address not in listed]
    if unbound := _unbound(facts):
        return _left_out(facts, _refused(facts) or unbound)
    if not ours or count is None or count >= len(cards):
        return None
    if count == _opened(facts):
        return None  # the others were not passed to this job or container
    names = " and ".join(card_name(card) for card in ours[:4])
    message = f"PCI shows {len(cards)} NVIDIA GPUs, the driver lists {count}. Missing: {names}."
    return Problem(message, texts(tuple(e for e in events(facts, "rm-init-failed", "probe-failed", "xid"))))


def _left_out(facts: Facts, left: list[PciDevice]) -> Problem:
    names = " and ".join(card_name(card).replace("The", "the", 1) for card in left[:4])
    model = left[0].device
    same = sum(card.device == model and works(facts, card) for card in cards_of(facts, "nvidia"))
    others = f"{same} identical GPUs (10de:{model}) work" if same > 1 else f"an identical GPU (10de:{model}) works"
    if not _refused(facts):
        message = f"No driver is bound to {names}, though {others}."
        return Problem(message, severity=Severity.WARNING)
    message = f"The driver refused {names}, but {others}: the driver supports this model, so this card is faulty."
    return Problem(message, texts(events(facts, *_REFUSALS)))
