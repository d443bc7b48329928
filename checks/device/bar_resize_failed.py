"""The driver could not enlarge the GPU's BAR1, and gave the GPU up."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import boot, module_option
from gpudoctor.maybe import phrase
from gpudoctor.queries.cards import any_works
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import cards_of


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    message = "Let the driver leave the windows as the firmware assigned them (no resizing)"
    keep = module_option.set_option(facts, message, "NVreg_EnableResizableBar=0", "nvidia-bar")
    room = "Let the kernel assign larger windows to the bridges."
    return (keep, boot.kernel_parameter(facts, room, "pci=realloc,hpmmioprefsize=64G"))


@check(
    title="Resizable BAR: the driver cannot resize BAR1 and gives the GPU up",
    severity=Severity.ERROR,
    cause="The driver enlarges BAR1 to the whole memory (Resizable BAR) while it probes the GPU. Where the bridge "
    "above has no room for that, as Thunderbolt's often has not, the driver treats it as fatal and does not bind, "
    "although the GPU works with a small BAR1.",
    fixes=_fixes,
    references=("https://github.com/NVIDIA/open-gpu-kernel-modules/pull/1109",),
    targets=own_kernel,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def bar_resize_failed(facts: Facts) -> Problem | None:
    """The driver's line, on a machine none of whose NVIDIA GPUs works."""
    logged = events(facts, "bar-resize-failed")
    if not logged or any_works(facts):
        return None
    spaces = tuple(
        e for card in cards_of(facts, "nvidia") for e in events(facts, "bar-no-space") if e.gpu == card.address
    )
    where = phrase(" of the GPU at {}", spaces[-1].gpu) if spaces else ""
    message = f"The driver could not resize BAR1{where}: the bridge above it has no room. It did not bind to the GPU."
    return Problem(message, texts((*spaces, *logged)))
