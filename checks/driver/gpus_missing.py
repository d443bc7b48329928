"""NVML lists some of the GPUs on PCI, not all."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown, known
from gpudoctor.queries.cards import card_name
from gpudoctor.queries.cause_groups import DEAD, OTHER_DRIVERS, UNFIT
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import cards_of, gpus_of
from gpudoctor.tasks import filtered, query

_FIX = Fix(
    "Read the kernel log for this GPU, then reboot. If it stays missing, power-cycle the machine and reseat the card.",
    (filtered(query("dmesg", root=True), query("grep", "-E", "NVRM|Xid")),),
    "reboot",
    root=True,
    needs="reboot",
    verify=query("nvidia-smi", "-L"),
)


def _opened(facts: Facts) -> int | None:
    """How many of the nodes /dev/nvidiaN can be opened: a job or container with some of the GPUs has only theirs."""
    nodes = facts.nvidia.kernel.nodes
    if isinstance(nodes, Unknown):
        return None
    numbered = [n for n in nodes if n.path.removeprefix("/dev/nvidia").isdigit()]
    return sum(n.error is None for n in numbered)


@check(
    title="nvidia-smi lists fewer GPUs than the PCI bus (lspci)",
    severity=Severity.ERROR,
    cause="The driver could not initialize one of several GPUs, or it was excluded or drained.",
    fixes=(_FIX,),
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",),
    targets=own_kernel,
    caused_by=(*DEAD, *OTHER_DRIVERS, *UNFIT, "device.xid-hardware"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def gpus_missing(facts: Facts) -> Problem | None:
    """The cards bound to nvidia, without those that NVML lists or that are excluded by name."""
    listed = {g.address for g in gpus_of(facts, "nvidia")}
    if not listed or known(facts.nvidia.nvml.code) != 0:
        return None
    count, cards = known(facts.nvidia.nvml.count), cards_of(facts, "nvidia")
    ours = [c for c in cards if c.driver == "nvidia" and c.address not in listed]
    excluded = facts.nvidia.kernel.parameters.get("ExcludedGpus", "")
    if not ours or excluded or count is None or count >= len(cards):
        return None
    if count == _opened(facts):
        return None  # the others were not passed to this job or container
    names = " and ".join(card_name(card) for card in ours[:4])
    message = f"PCI shows {len(cards)} NVIDIA GPUs, the driver lists {count}. Missing: {names}."
    return Problem(message, texts(tuple(e for e in events(facts, "rm-init-failed", "probe-failed", "xid"))))
