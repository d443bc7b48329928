"""What is said where no driver lists a GPU: why, and what the bus shows."""

from __future__ import annotations

from textual.content import Content

from gpudoctor.facts import Facts, PciDevice
from gpudoctor.maybe import Unknown
from gpudoctor.monitor.snapshot import LIVE, Snapshot
from gpudoctor.report.sanitize import clean

SAMPLED = ("10de", "1002")
MAKERS = {"10de": "NVIDIA", "1002": "AMD", "8086": "Intel"}


def nothing(look: Snapshot, facts: Facts | None) -> list[Content]:
    """The page in lines.

    Args:
        look: what the source shows; it has no GPU.
        facts: of the machine; None: they are still gathered.
    """
    if look.waiting:
        return [Content.styled("Querying the drivers …", "bold")]
    lines = [Content.styled("No GPU is visible to a driver here, so there is nothing to show.", "bold"), Content("")]
    why = [Content.styled(clean(text), "$foreground-muted") for text in (*look.absent, *_said(facts))]
    return [*lines, *why, *([Content("")] if why else []), *_bus(facts), Content(""), *_next(look)]


def _said(facts: Facts | None) -> list[str]:
    """Why the facts list no GPU, where they say so."""
    if facts is None or not isinstance(facts.gpus, Unknown):
        return []
    return [f"When the driver was queried: {facts.gpus.unknown}."]


def _bus(facts: Facts | None) -> list[Content]:
    if facts is None:
        return [Content("The PCI devices are not known yet: the probes are still running.")]
    if isinstance(facts.pci, Unknown):
        return [Content(f"The PCI devices are unknown: {clean(facts.pci.unknown)}.")]
    cards = [device for device in facts.pci if device.role == "gpu"]
    if not cards:
        return [Content("There is no GPU on the PCI bus either.")]
    return [Content("On the PCI bus:"), *(_card(card) for card in cards)]


def _card(card: PciDevice) -> Content:
    name = clean(card.name) if isinstance(card.name, str) else f"device {card.device}"
    driver = card.driver
    if isinstance(driver, Unknown):
        bound = "driver unknown"
    else:
        bound = f"driver {clean(driver)}" if driver else "no driver bound"
    bound += "" if card.vendor in SAMPLED else ", not sampled"
    maker = MAKERS.get(card.vendor, card.vendor)
    name = name if name.startswith(f"{maker} ") else f"{maker} {name}"  # a driver's name begins with it, the bus's not
    place = f"  {clean(card.address)}  "
    return Content.assemble(place, (name, "bold"), (f"\n{' ' * len(place)}{bound}", "$foreground-muted"))


def _next(look: Snapshot) -> list[Content]:
    lines = [Content.assemble(("1", "bold"), " shows what is wrong and how to fix it.")]
    if look.kind == LIVE:
        lines.append(Content.assemble(("gpudoctor --demo bad-link", "$success"), " shows eight recorded GPUs here."))
    return lines
