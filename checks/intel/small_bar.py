"""The CPU accesses an Intel card's memory through a 256 MiB window."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.queries.intel import card_name, intel_cards, wants_intel
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import OnCard
from gpudoctor.tasks import filtered, query, sentence

_OLD_WINDOW = 256 << 20


# IoctlHelperXe::isSmallBarConfigAllowed() is false, and Drm's initialization then ends: the card is not listed.
_REFUSED = (
    "Without Resizable BAR the CPU can access only a part of the card's memory. With the kernel driver xe, Intel's "
    "compute runtime (Level Zero, OpenCL) refuses such a card ('Resizable BAR not detected') and lists no GPU; other "
    "programs die with a bus error (SIGBUS)."
)


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    guest = hypervisor(on.facts) is not None
    message = "Enable 'Above 4G Decoding' and 'Re-Size BAR Support' in the BIOS/UEFI setup, with CSM disabled."
    if guest:
        message = (
            "On the host of this virtual machine: enable 'Above 4G Decoding' and 'Re-Size BAR Support' in the "
            "BIOS/UEFI setup, and give the guest UEFI (OVMF) with a 64-bit PCI window as large as the card's memory."
        )
    return (
        Fix(
            message,
            action="reboot",
            needs="reboot",
            impact="persistent",
            undo=sentence("Disable them again in the BIOS/UEFI setup."),
            verify=filtered(query("dmesg", root=True), query("grep", "-iE", "BAR2? (resized|size)|[a-z]+ BAR")),
            place="outside" if guest else "here",
        ),
    )


@check(
    title="Resizable BAR is off for the Intel GPU",
    severity=Severity.ADVICE,
    cause="Without Resizable BAR the CPU can access only 256 MiB of the card's memory at a time. Intel's cards are "
    "designed for the large BAR and are markedly slower without it.",
    fixes=_fixes,
    references=(
        "https://www.intel.com/content/www/us/en/support/articles/000090831/graphics.html",
        "https://docs.kernel.org/gpu/rfc/i915_small_bar.html",
        "https://github.com/intel/compute-runtime/issues/997",
        "https://github.com/intel/media-driver/pull/1990",
    ),
    targets=intel_cards,
    caused_by=("intel.firmware-missing",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def small_bar(on: OnCard) -> Problem | None:
    """The BAR has the old size although the driver, which enlarges it where it can, is bound.

    A hypervisor's window need not be the card's: there, only what the driver logs counts.
    """
    logged = tuple(e for e in events(on.facts, "intel-small-bar") if e.gpu == on.card.address)
    if not logged and (hypervisor(on.facts) or known(on.card.driver) is None):
        return None
    window = known_or(on.card.bar1, None) if logged else known(on.card.bar1)
    small = window is not None and 0 < window <= _OLD_WINDOW
    if not small and not logged:
        return None
    exposed = f"only {window >> 20} MiB" if window and small else "only a part"
    # The runtime's refusal matters where it is in use; i915's cards work, slower.
    refused = known_or(on.card.driver, None) == "xe" and wants_intel(on.facts)
    return Problem(
        f"{card_name(on.card)} exposes {exposed} of its memory to the CPU at a time.",
        texts(logged),
        _REFUSED if refused else None,
        severity=Severity.WARNING if refused else None,
    )
