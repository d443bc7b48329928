"""An AMD card's PCIe link trained with a quarter of its lanes or fewer."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.amd_boards import OnBoard, boards
from gpudoctor.tasks import filtered, query

_LOAD = 50  # percent: a busy link is not in a power-saving state


def _awake(on: OnBoard) -> bool:
    """Whether the link is in its state under load: amdgpu lowers speed and width when idle, and the speed shows it."""
    used = max((u for gpu in on.gpus if isinstance(u := gpu.utilization, int)), default=0)
    now, maximum = known_or(on.card.link_generation, None), known_or(on.card.link_generation_max, None)
    return used >= _LOAD or (now is not None and now == maximum)


@check(
    title="AMD GPU's PCIe link is far narrower than card and slot allow",
    severity=Severity.WARNING,
    cause="The link trained with a quarter of the lanes that both sides support, or fewer: the card is not fully "
    "seated, a riser or contact is bad, or the slot shares its lanes. Copies to the card and between cards are slow.",
    fixes=(
        Fix(
            "Shut down, reseat the card or move it to a CPU-attached slot, avoid risers, and check the slot's lanes "
            "(bifurcation) in the BIOS/UEFI setup.",
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
    """Half the lanes are common and cost little; an idle link in a power-saving state shows nothing."""
    if on.card.integrated is not False or isinstance(on.facts.host.virtual, str):
        return None
    now, maximum = known(on.card.link_width), known(on.card.link_width_max)
    if now is None or maximum is None or now <= 0 or now * 4 > maximum or not _awake(on):
        return None
    return Problem(f"The PCIe link of {on.within} runs at width x{now}; card and slot support x{maximum}.")
