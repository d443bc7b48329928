"""amdgpu is loaded but not bound to one of AMD's cards."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.fixes import amd, card_firmware, kernel_packages
from gpudoctor.fixes.card_firmware import SILENT, power_cycle
from gpudoctor.knowledge import rocm
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.regressions import Regression
from gpudoctor.maybe import known, known_or, phrase, text_of
from gpudoctor.queries.cards import card_name
from gpudoctor.queries.gpus import hypervisor
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.queries.known_bugs import kernel_bug, known_kernel
from gpudoctor.targets import OnCard, amd_compute, cards_of, gpus_of, has_nvidia, in_container
from gpudoctor.tasks import Shell, as_root, filtered, query

# Cards before GCN 3 belong to the older driver radeon, and ROCm never supported them.
_TOO_OLD = ("gfx6", "gfx7")
_KINDS = (
    "amdgpu-bad-pages",
    "amdgpu-firmware",
    "amdgpu-unknown-block",
    "amdgpu-no-vbios",
    "amdgpu-init-failed",
    "amdgpu-probe-failed",
    "amdgpu-lost",
)
# What the driver core prints of a failed probe. amdgpu maps its registers first: a window without an address is ENOMEM
# (amdgpu_device_init); what the GPU does not answer in time is ETIME or ETIMEDOUT.
_NO_MEMORY = -12
_DRIVEN = Shell("lspci -k -d 1002: | grep -A3 -E 'VGA|Display|3D'", lookup=True)
_TIMES_OUT = (-62, -110)


def _cards(facts: Facts) -> Iterator[tuple[About, OnCard]]:
    """Each card where somebody wants to compute on it, and one that amdgpu reports to have failed on anyway."""
    for card in cards_of(facts, "amd"):
        on = OnCard(facts, card)
        if _events(on, "amdgpu-init-failed", "amdgpu-probe-failed") or any(amd_compute(facts)):
            yield About(label=f"the GPU at {card.address}", gpu=card.address), on


def _events(on: OnCard, *kinds: str) -> tuple[LogEvent, ...]:
    alone = len(cards_of(on.facts, "amd")) == 1
    return tuple(e for e in events(on.facts, *kinds) if e.gpu == on.card.address or (e.gpu is None and alone))


def _bug(on: OnCard) -> Regression | None:
    """The known bug of the running kernel that keeps its own amdgpu from this card."""
    if on.facts.amd.version is not None:
        return None
    lines = tuple(event.text for event in _events(on, *_KINDS))
    return kernel_bug(on.facts, lines, known_or(on.card.gfx, None) or "", "amdgpu")


def _ended(on: OnCard, *codes: int) -> bool:
    """Whether the last probe of this card ended with one of these errors."""
    found = _events(on, "amdgpu-probe-failed")
    return bool(found) and found[-1].code in codes


def _old_kernel(on: OnCard) -> str | None:
    """The first kernel that supports this card where the running one is older; RHEL and AMD's driver backport."""
    release, first = known_or(on.facts.host.kernel.release, ""), rocm.first_kernel(known_or(on.card.gfx, None) or "")
    own = on.facts.amd.version is None and release[:1].isdigit() and ".el" not in release
    return first if first and own and version(release)[:2] < version(first) else None


def _why(on: OnCard) -> str:
    if _events(on, "amdgpu-bad-pages"):
        return "bad-pages"
    if _bug(on):
        return "bug"
    # The kernel logs a window's first try, too, after which it finds room: the driver's error shows that it did not.
    if on.card.bar1 == 0 or _ended(on, _NO_MEMORY):
        return "window"
    if _events(on, "amdgpu-no-vbios"):
        return "vbios"
    old = _old_kernel(on) or (_events(on, "amdgpu-unknown-block") and "newer")
    if old:
        return "kernel"
    if _events(on, "amdgpu-firmware"):
        return "firmware"
    return "silent" if _ended(on, *_TIMES_OUT) else ""


def _no_window(on: OnCard) -> str:
    if on.card.bar1 == 0:
        who = "hypervisor" if hypervisor(on.facts) else "BIOS/UEFI"
        return f" The {who} assigned no address space to its memory (BAR)."
    return " Its probe ended with error -12 (ENOMEM), as it does where a memory window (BAR) has no address space."


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    why, bug = _why(on), _bug(on)
    if bug:
        return kernel_packages.without_bug(on.facts, bug, amd.PROOF if any(amd_compute(on.facts)) else _DRIVEN)
    if why == "bad-pages":
        return (
            Fix(
                "Have the card replaced (RMA): its memory has more bad pages than AMD's threshold allows.",
                (),
                "ask-vendor",
            ),
        )
    if why == "window":
        return card_firmware.more_room(on.facts, amd.PROOF)
    if why == "vbios":
        return card_firmware.video_bios(on.facts, amd.PROOF)
    if why == "silent":
        return (power_cycle(on.facts, SILENT, amd.PROOF),)
    firmware, kernel = amd.newer_firmware(on.facts), _kernel(on.facts)
    if why:
        before = kernel_packages.before_update(on.facts, amd.PROOF)
        return (firmware, kernel, *before) if why == "firmware" else (kernel, firmware)
    look = Fix(
        "Read what amdgpu logs about this card. A card that does not start after a power cycle is badly seated, lacks "
        "a power cable, or is broken.",
        (
            filtered(
                query("dmesg", root=True), query("grep", "-iE", f"amdgpu|{on.card.address}"), query("tail", "-n", "40")
            ),
        ),
        root=True,
        verify=amd.PROOF,
    )
    return (look, firmware, *kernel_packages.before_update(on.facts, amd.PROOF))


def _kernel(facts: Facts) -> Fix:
    package = phrase("linux-generic-hwe-{}", facts.host.distribution.version)
    newer = as_root("apt", "install", package) if package and facts.host.distribution.id == "ubuntu" else None
    return Fix(
        "Boot a newer kernel from the distribution, or install AMD's driver package amdgpu-dkms, which is newer.",
        (newer, as_root("reboot")) if newer else (),
        "reinstall-package",
        root=True,
        needs="reboot",
        impact="persistent",
        verify=amd.PROOF,
    )


@check(
    title="amdgpu is not bound to an AMD GPU",
    severity=Severity.ERROR,
    cause="The module is loaded but failed to initialize this card: the kernel is older than the card, its firmware "
    "or VBIOS is missing, its memory windows have no address space, or the card did not respond. ROCm does not see a "
    "card without a driver.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/gpu/amdgpu/driver-core.html",
        "https://github.com/ROCm/legacy-rocm-build/issues/2562",
        "https://github.com/ROCm/legacy-rocm-build/issues/6281",
        "https://github.com/AMD-BC-250/documentation/issues/4",
        "https://github.com/isc30/ryzen-gpu-passthrough-proxmox/issues/117",
    ),
    targets=_cards,
    only_with=("pci.vendor=1002",),
    caused_by=("rocm.dkms-build-failed", "rocm.half-installed"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def not_driven(on: OnCard) -> Problem | None:
    """No driver is bound; an integrated GPU next to one that works is a WARNING."""
    if not known(on.facts.amd.loaded) or known(on.card.driver) is not None:
        return None
    listed = {gpu.address for gpu in gpus_of(on.facts, "amd")}
    old = text_of(on.card.gfx).startswith(_TOO_OLD) or amd.shares_cards(on.facts)
    if on.card.address in listed or old or in_container(on.facts):
        return None
    first, running = _old_kernel(on), on.facts.host.kernel.release
    reason = {
        "bad-pages": " Its memory has too many bad pages.",
        "kernel": phrase(" The running kernel is {}; the first that supports it is {}.", running, first)
        or " The running kernel does not support this generation.",
        "firmware": " Its firmware is missing.",
        "window": _no_window(on),
        "vbios": " It has no video BIOS (VBIOS): amdgpu finds no BIOS ROM.",
        "silent": " The GPU did not respond in time.",
        "bug": f" {known_kernel(on.facts, bug)}" if (bug := _bug(on)) else "",
    }.get(_why(on), "")
    # Nobody asked for ROCm, and another vendor's GPU may be the one that computes.
    display = has_nvidia(on.facts) and not any(amd_compute(on.facts))
    spare = display or (on.card.integrated is True and bool(listed))
    message = f"{card_name(on.card)} has no driver bound, although amdgpu is loaded.{reason}"
    logged = (*_events(on, *_KINDS), *(_events(on, "bar-no-space") if _why(on) == "window" else ()))
    return Problem(
        message,
        texts(logged),
        f"Regression of the kernel's own amdgpu: {bug.what}. {bug.source}" if bug else None,
        Severity.WARNING if spare else None,
    )
