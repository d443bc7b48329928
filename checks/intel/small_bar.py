"""The CPU accesses an Intel card's memory through a 256 MiB window."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.queries.intel import card_name, intel_cards
from gpudoctor.targets import OnCard
from gpudoctor.tasks import filtered, query, sentence

_OLD_WINDOW = 256 << 20


@check(
    title="Resizable BAR is off for the Intel GPU",
    severity=Severity.ADVICE,
    cause="Without Resizable BAR the CPU can access only 256 MiB of the card's memory at a time. Intel's cards are "
    "designed for the large BAR and are markedly slower without it.",
    fixes=(
        Fix(
            "Enable 'Above 4G Decoding' and 'Re-Size BAR Support' in the BIOS/UEFI setup, with CSM disabled.",
            action="reboot",
            needs="reboot",
            impact="persistent",
            undo=sentence("Disable them again in the BIOS/UEFI setup."),
            verify=filtered(query("dmesg", root=True), query("grep", "-iE", "BAR2? (resized|size)|Resizable BAR")),
        ),
    ),
    references=(
        "https://www.intel.com/content/www/us/en/support/articles/000090831/graphics.html",
        "https://docs.kernel.org/gpu/rfc/i915_small_bar.html",
    ),
    targets=intel_cards,
    caused_by=("intel.firmware-missing",),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def small_bar(on: OnCard) -> Problem | None:
    """The BAR has the old size although the driver, which enlarges it where it can, is bound."""
    if hypervisor(on.facts) or known(on.card.driver) is None:
        return None
    window = known(on.card.bar1)
    if window is None or not 0 < window <= _OLD_WINDOW:
        return None
    return Problem(f"{card_name(on.card)} exposes only {window >> 20} MiB of its memory to the CPU at a time.")
