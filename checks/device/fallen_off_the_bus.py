"""The GPU no longer responds on PCI Express."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.card_firmware import power_cycle
from gpudoctor.fixes.limits import lower
from gpudoctor.fixes.stay_on import where_it_is_set
from gpudoctor.maybe import known_or
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.queries.kernel_log import ago, events, texts
from gpudoctor.targets import as_gpus, in_container
from gpudoctor.tasks import as_root, query

# "The GPU has fallen off the bus or has otherwise become inaccessible" (nvmlReturn_t).
_LOST = "NVML: NVML_ERROR_GPU_IS_LOST (15)"
_SLOWER = Fix(
    "Replace the riser, cable or adapter by one made for the link's speed, or reseat it; until then set the slot one "
    "PCIe generation lower in the firmware setup (BIOS).",
    (),
    "replace-hardware",
    needs="reboot",
)


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    laptop = known_or(on.facts.host.platform, "") == "laptop"
    guest = hypervisor(on.facts) is not None and not in_container(on.facts)
    start = "On the host: reboot it" if in_container(on.facts) else "Reboot"
    back = (
        power_cycle(on.facts, "")
        if guest
        else Fix(
            f"{start}; if the GPU stays missing, shut down, disconnect the power for a minute, and cold-boot.",
            (as_root("reboot"),),
            "power-cycle",
            root=True,
            needs="reboot",
            verify=query("nvidia-smi"),
        )
    )
    card = "power cables and supply, seating, riser, and cooling"
    physical = f"on the host {card}" if guest else "cooling, and a firmware (BIOS) update" if laptop else card
    gpu = on.gpu or next(iter(as_gpus("nvidia", (on.card,) if on.card else ())), None)
    less = lower(gpu, on.number) if gpu else None
    look = Fix(
        f"If it happens again: check {physical}; look at the temperature and for PCIe errors (AER) before it; limit "
        "the clocks to see whether power is the cause; if the fault follows the card into another machine, have it "
        "replaced.",
        (query("nvidia-smi", "-q", "-d", "TEMPERATURE,POWER", "-i", on.number), *(less[:1] if less else ())),
        "replace-hardware",
        root=less is not None,
        undo=less[1:] if less else (),
    )
    # One that responds again needs no reboot now.
    now = () if on.answers and on.facts.nvidia.cuda.code == 0 else (back,)
    asleep = () if in_container(on.facts) else where_it_is_set(on.facts)
    return (*now, *((_SLOWER,) if _link_errors(on)[0] else ()), *asleep, look)


@check(
    title="GPU has fallen off the bus",
    severity=Severity.ERROR,
    cause="The PCI Express link to the GPU is gone, so the driver cannot reach it. Check power, heat, seating and "
    "riser first, then firmware, then a dying card; software is rarely the cause.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/xid-errors/", "https://docs.nvidia.com/deploy/nvml-api/"),
    targets=nvidia_addresses,
    only_with=("log.events.kind=xid,lost-at-probe,fallen-off-bus gpus.status=lost",),
    caused_by=("device.wake-failed",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def fallen_off_the_bus(on: OnAddress) -> Problem | None:
    """NVML reports lost, or the log reports fallen off and nothing shows that the GPU came back."""
    lost = on.gpu is not None and on.gpu.status == "lost"
    logged = (
        *on.xids(79),
        *(() if on.answers else on.events("lost-at-probe")),
        *(() if on.answers and on.gpu and on.gpu.recovery_action == "none" else on.events("fallen-off-bus")),
    )
    if not lost and not logged:
        return None
    link, words = _link_errors(on)
    xid = " (Xid 79)" if on.xids(79) else ""
    if lost:
        off = (
            f"it has fallen off the bus{xid}" if logged else "it has fallen off the bus, or cannot be reached any more"
        )
        return Problem(f"{on.name} is lost: {off}.{words}", (_LOST, *texts(logged), *link))
    back = on.answers and on.facts.nvidia.cuda.code == 0
    after = f"{ago(on.facts, logged[-1])}; it responds again now" if back else ""
    message = f"{on.name} has fallen off the bus according to the kernel log{xid}{after}.{words}"
    severity = Severity.ADVICE if on.is_history(logged) else Severity.WARNING if back else None
    return Problem(message, (*texts(logged), *link), severity=severity)


def _link_errors(on: OnAddress) -> tuple[tuple[str, ...], str]:
    """The errors that PCI Express logged (AER) of this GPU's link, and a sentence about them."""
    ports = on.card.ports if on.card is not None and isinstance(on.card.ports, tuple) else ()
    # The kernel names the narrowest port on the way where the link is slower than the card.
    narrow = (re.search(r" at (\S+:\S+\.\d)", e.text) for e in on.events("pcie-bandwidth-limited"))
    path = {on.address, *ports, *(found[1] for found in narrow if found)}
    logged = tuple(e for e in events(on.facts, "aer") if e.gpu in path)
    if not logged:
        return (), ""
    where = " and ".join(dict.fromkeys(e.gpu for e in logged if e.gpu))
    return texts(logged, 2), (
        f" PCIe errors (AER) were logged on its link at {where} before: cable, riser, adapter or slot do not carry the "
        "link speed."
    )
