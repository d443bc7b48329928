"""amdgpu is loaded but not bound to one of AMD's cards."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd
from gpudoctor.knowledge import rocm
from gpudoctor.knowledge.kernels import version
from gpudoctor.maybe import known, known_or, phrase, text_of
from gpudoctor.queries.cards import card_name
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import OnCard, amd_compute, cards_of, gpus_of, in_container
from gpudoctor.tasks import as_root, filtered, query, sentence

# Cards before GCN 3 belong to the older driver radeon, and ROCm never supported them.
_TOO_OLD = ("gfx6", "gfx7")
_KINDS = ("amdgpu-bad-pages", "amdgpu-firmware", "amdgpu-unknown-block", "amdgpu-init-failed", "amdgpu-lost")


_ROOM = Fix(
    "Enable 'Above 4G Decoding' (and 'Re-Size BAR Support') in the BIOS/UEFI setup, with CSM disabled.",
    action="reboot",
    needs="reboot",
    impact="persistent",
    undo=sentence("Disable them again in the BIOS/UEFI setup."),
    verify=amd.PROOF,
)


def _cards(facts: Facts) -> Iterator[tuple[About, OnCard]]:
    for _ in amd_compute(facts):
        for card in cards_of(facts, "amd"):
            yield About(label=f"the GPU at {card.address}", gpu=card.address), OnCard(facts, card)


def _logged(on: OnCard, *kinds: str) -> tuple[str, ...]:
    alone = len(cards_of(on.facts, "amd")) == 1
    found = events(on.facts, *(kinds or _KINDS))
    return texts(tuple(e for e in found if e.gpu == on.card.address or (e.gpu is None and alone)))


def _old_kernel(on: OnCard) -> str | None:
    """The first kernel that supports this card where the running one is older; RHEL and AMD's driver backport."""
    release, first = known_or(on.facts.host.kernel.release, ""), rocm.first_kernel(known_or(on.card.gfx, None) or "")
    own = on.facts.amd.version is None and release[:1].isdigit() and ".el" not in release
    return first if first and own and version(release)[:2] < version(first) else None


def _why(on: OnCard) -> str:
    if _logged(on, "amdgpu-bad-pages"):
        return "bad-pages"
    if on.card.bar1 == 0:
        return "window"
    old = _old_kernel(on) or (_logged(on, "amdgpu-unknown-block") and "newer")
    if old:
        return "kernel"
    return "firmware" if _logged(on, "amdgpu-firmware") else ""


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    why = _why(on)
    if why == "bad-pages":
        return (
            Fix(
                "Have the card replaced (RMA): its memory has more bad pages than AMD's threshold allows.",
                (),
                "ask-vendor",
            ),
        )
    if why == "window":
        return (_ROOM,)
    firmware, kernel = amd.newer_firmware(on.facts), _kernel(on.facts)
    if why:
        return (firmware, kernel) if why == "firmware" else (kernel, firmware)
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
    return look, firmware


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
    "is missing, or the card did not respond. ROCm does not see a card without a driver.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/gpu/amdgpu/driver-core.html",
        "https://github.com/ROCm/legacy-rocm-build/issues/2562",
    ),
    targets=_cards,
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
        "window": " The BIOS/UEFI assigned no address space to its memory (BAR).",
    }.get(_why(on), "")
    spare = on.card.integrated is True and bool(listed)
    message = f"{card_name(on.card)} has no driver bound, although amdgpu is loaded.{reason}"
    return Problem(message, _logged(on), severity=Severity.WARNING if spare else None)
