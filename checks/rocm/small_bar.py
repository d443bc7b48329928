"""Several cards, one of them with a small BAR: they cannot access each other's memory."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.maybe import known
from gpudoctor.queries.amd_boards import OnBoard, discrete
from gpudoctor.targets import amd_compute, in_container
from gpudoctor.tasks import filtered, query, sentence

_OLD_WINDOW = 256 << 20  # the BAR size where the firmware does not resize it


def _small(on: OnBoard) -> bool:
    memory = sum(known(gpu.memory) or 0 for gpu in on.gpus)
    window = known(on.card.bar1) if memory > 2 * _OLD_WINDOW else None
    return window is not None and window <= _OLD_WINDOW


@check(
    title="Small PCI BAR: no peer-to-peer access between AMD GPUs",
    severity=Severity.ADVICE,
    cause="One card accesses another's memory through its PCI window (BAR 0), which has to cover all of it. Firmware "
    "without 'Above 4G decoding' and 'Resizable BAR' leaves it at 256 MiB; data between cards then goes through host "
    "memory, which is slower.",
    fixes=(
        Fix(
            "Enable 'Above 4G Decoding' and 'Re-Size BAR Support' in the BIOS/UEFI setup, with CSM disabled.",
            action="reboot",
            needs="reboot",
            impact="persistent",
            undo=sentence("Disable them again in the BIOS/UEFI setup."),
            verify=filtered(
                query("lspci", "-vv", root=True), query("grep", "-A12", "-E", "VGA|Display"), query("grep", "Region 0")
            ),
        ),
    ),
    references=(
        "https://instinct.docs.amd.com/projects/amdgpu-docs/en/latest/conceptual/iommu.html",
        "https://github.com/ROCm/rccl/issues/1129",
    ),
    targets=amd_compute,
    caused_by=("rocm.not-loaded", "rocm.not-driven"),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def small_bar(facts: Facts) -> Problem | None:
    """Two or more discrete cards on bare metal, and one with the old BAR size."""
    if in_container(facts) or isinstance(facts.host.virtual, str):
        return None
    cards = [on for on in discrete(facts) if on.gpus]
    if len(cards) < 2:
        return None
    small = [on for on in cards if _small(on)]
    if not small:
        return None
    names = ", ".join(on.name for on in small[:4])
    return Problem(f"The PCI window (BAR 0) of {len(small)} of {len(cards)} cards is 256 MiB or less: {names}.")
