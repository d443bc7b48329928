"""The GuC firmware, without which an Intel GPU cannot run anything, did not load."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import system
from gpudoctor.queries.intel import card_name, intel_cards, xpu_builds
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import OnCard
from gpudoctor.tasks import as_root, filtered, query


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    debian = on.facts.host.distribution.id == "debian"
    name = "firmware-intel-graphics" if debian else "linux-firmware"
    commands = (*system.install(on.facts, name), *system.initramfs(on.facts))
    message = (
        "Install the distribution's newest firmware package, rebuild the initramfs, and reboot; a kernel newer than "
        f"the distribution's may need newer files than it has.{system.initramfs_hint(on.facts)}"
    )
    proof = filtered(query("dmesg", root=True), query("grep", "-iE", "guc|huc"))
    return (Fix(message, (*commands, as_root("reboot")), "reinstall-package", root=True, needs="reboot", verify=proof),)


@check(
    title="GuC firmware of the Intel GPU did not load",
    severity=Severity.ERROR,
    cause="On these cards the GuC, a microcontroller in the GPU, schedules all work. Its firmware comes from the "
    "package linux-firmware; if the file is missing or too old for the kernel, the driver does not initialize the "
    "card.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/gpu/i915.html#guc",
        "https://github.com/intel-gpu/intel-gpu-i915-backports/issues/41",
    ),
    targets=intel_cards,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def firmware_missing(on: OnCard) -> Problem | None:
    """The kernel logged it for this card."""
    logged = tuple(event for event in events(on.facts, "intel-firmware") if event.gpu == on.card.address)
    works = any(f.live is not None and f.live.available is True for _, f in xpu_builds(on.facts))
    if not logged or works:
        return None
    return Problem(f"{card_name(on.card)} did not load its firmware, so it cannot run anything.", texts(logged))
