"""A device on Thunderbolt is not authorized, and may contain the GPU that is missing."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Thunderbolt
from gpudoctor.maybe import known
from gpudoctor.queries.driver import own_kernel
from gpudoctor.targets import asked_for_nvidia, cards_of, gpus_of
from gpudoctor.tasks import Edit, cmd, query, sentence
from gpudoctor.tasks.placeholders import DEVICE

# Docks and drives wait for authorization as well; these are enclosures for a card.
_BOXES = ("core x", "egpu", "egfx", "gaming box", "akitio node", "graphics", "accelerator", "mantiz", "th3p4", "ut3g")


def _waiting(facts: Facts) -> tuple[Thunderbolt, ...]:
    return tuple(d for d in known(facts.host.thunderbolt) if d.authorized is False)


def _name(device: Thunderbolt) -> str:
    return " ".join(word for word in (device.vendor, device.name) if word) or f"the device {device.place}"


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    place = _waiting(facts)[0].place
    for_good = Fix(
        "Authorize it permanently with bolt; boltctl lists the devices and their UUIDs.",
        (query("boltctl", "list"), cmd("boltctl", "enroll", DEVICE)),
        root=False,
        impact="persistent",
        undo=(cmd("boltctl", "forget", DEVICE),),
        verify=query("lspci", "-d", "10de:"),
    )
    once = Fix(
        "Authorize it until it is unplugged.",
        (Edit(f"/sys/bus/thunderbolt/devices/{place}/authorized", text="1\n", root=True),),
        root=True,
        undo=sentence("Unplug it."),
        verify=query("lspci", "-d", "10de:"),
    )
    return for_good, once


@check(
    title="Thunderbolt device is not authorized",
    severity=Severity.WARNING,
    cause="Thunderbolt gives a device access to the PCIe bus only when the user has allowed it. Until then the GPU in "
    "an external enclosure is on no bus.",
    fixes=_fixes,
    references=("https://docs.kernel.org/admin-guide/thunderbolt.html",),
    targets=own_kernel,
    affects=("everything",),
    validated_on=("table 2026-11",),
    bearable=False,
)
def thunderbolt_unauthorized(facts: Facts) -> str | Problem | None:
    """An NVIDIA GPU is expected, none is on the bus, and a device is kept off it; any enclosure, or one by its name."""
    if cards_of(facts, "nvidia") or gpus_of(facts, "nvidia") or not asked_for_nvidia(facts):
        return None
    waiting = _waiting(facts)
    if not waiting or known(facts.pci) is None:
        return None
    box = next((d for d in waiting if any(word in _name(d).lower() for word in _BOXES)), None)
    if box is not None:
        return f"{_name(box)} on Thunderbolt is not authorized, so a GPU in it is not on the PCI bus."
    message = (
        f"{_name(waiting[0])} on Thunderbolt is not authorized; if it contains a GPU, that one is not on the PCI bus."
    )
    return Problem(message, severity=Severity.ADVICE)  # usually a dock
