"""An AMD card's PCIe link trained with a quarter of its lanes or fewer."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.amd_boards import OnBoard, boards
from gpudoctor.tasks import filtered, query

_LOAD = 50  # per cent: a link at work is in no saving state


def _awake(on: OnBoard) -> bool:
    """Whether the link is as it is under load: amdgpu lowers speed and lanes at rest, and the speed shows it."""
    used = max((u for gpu in on.gpus if isinstance(u := gpu.utilization, int)), default=0)
    now, most = known_or(on.card.link_generation, None), known_or(on.card.link_generation_max, None)
    return used >= _LOAD or (now is not None and now == most)


@check(
    title="An AMD GPU's PCIe link has far fewer lanes than card and slot allow",
    severity=Severity.WARNING,
    cause="The link trained with a quarter of the lanes that both sides have, or fewer: the card is not fully seated, "
    "a riser or a contact is bad, or the slot shares its lanes. Copies to the card and between cards crawl.",
    fixes=(
        Fix(
            "Shut down, reseat the card or move it to a slot of the processor, do without a riser, and look in the "
            "firmware's set-up (BIOS) for the slot's lanes (bifurcation).",
            (),
            "replace-hardware",
            needs="reboot",
            verify=filtered(query("lspci", "-vv", root=True), query("grep", "-E", "VGA|Display|LnkSta:")),
        ),
    ),
    references=(
        "https://docs.kernel.org/PCI/sysfs-pci.html",
        "https://rocm.docs.amd.com/projects/radeon-ryzen/en/docs-6.2.3/docs/install/native_linux/mgpu.html",
    ),
    targets=boards,
    caused_by=("rocm.reset-failed",),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def narrow_link(on: OnBoard) -> Problem | None:
    """Half the lanes are common and cost little; at rest in a saving state nothing can be said."""
    if on.card.integrated is not False or isinstance(on.facts.host.virtual, str):
        return None
    now, most = known(on.card.link_width), known(on.card.link_width_max)
    if now is None or most is None or now <= 0 or now * 4 > most or not _awake(on):
        return None
    return Problem(f"The PCIe link of {on.within} has a width of x{now}, and card and slot have x{most}.")
