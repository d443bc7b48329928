"""Intel's compute runtime is newer than the last one for this GPU's generation."""

from collections.abc import Iterator

from gpudoctor.check_engine import MACHINE, About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import system
from gpudoctor.fixes.intel import LISTS
from gpudoctor.knowledge import intel as known_cards
from gpudoctor.maybe import known, known_or, present
from gpudoctor.targets import cards_of, gpus_of, has_nvidia
from gpudoctor.tasks import Shell, Tasks

_PLATFORMS = "https://github.com/intel/compute-runtime/blob/master/documentation/LEGACY_PLATFORMS.md"
_RELEASES = "https://github.com/intel/compute-runtime/releases/tag/24.35.30872.36"
# Debian calls it -legacy, Intel's own packages -legacy1.
_APT = Shell("apt-get install $(apt-cache pkgnames intel-opencl-icd-legacy)", root=True)


def _legacy_computers(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine whose only GPUs are Intel's of such a generation."""
    cards = cards_of(facts, "intel")
    others = has_nvidia(facts) or gpus_of(facts, "nvidia") or cards_of(facts, "amd")
    legacy = bool(cards) and all(known_cards.legacy_generation(card.device) for card in cards)
    if facts.host.system == "Linux" and legacy and not others:
        yield MACHINE, facts


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    commands: Tasks = (_APT,) if system.family_of(facts) == "debian" else ()
    message = (
        "Install the legacy edition of the compute runtime (24.35), which can stay next to the current one: the "
        "package intel-opencl-icd-legacy of Debian, intel-compute-runtime-legacy of other distributions, or the "
        f"packages with legacy1 in their names from {_RELEASES}."
    )
    return (Fix(message, commands, "reinstall-package", root=True, verify=LISTS),)


@check(
    title="Intel's compute runtime no longer supports this GPU generation",
    severity=Severity.WARNING,
    cause="From 24.35 on Intel's compute runtime (OpenCL and Level Zero) is for Gen12 and newer; Gen8, Gen9 and Gen11 "
    "GPUs need its legacy edition. Without it clinfo lists no platform or no device, though the kernel driver works.",
    fixes=_fixes,
    references=(_PLATFORMS, "https://github.com/intel/compute-runtime/issues/770"),
    targets=_legacy_computers,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def generation_dropped(facts: Facts) -> Problem | None:
    """The runtime is installed, its build has no code for the generation, and the legacy edition is missing."""
    build = known(facts.intel.runtime_build)
    if build is None or not known_cards.is_dropped_by(build) or known(facts.intel.legacy):
        return None
    card = cards_of(facts, "intel")[0]
    generation, name = present(known_cards.legacy_generation(card.device)), known_or(card.name, None) or card.device
    message = (
        f"The GPU at {card.address} ({name}) is {generation}, and Intel's compute runtime (build {build}) is for Gen12 "
        "and newer: OpenCL and Level Zero find no device."
    )
    path = present(facts.intel.level_zero)
    return Problem(message, (f"{path}: build {build}, without its legacy edition",))
