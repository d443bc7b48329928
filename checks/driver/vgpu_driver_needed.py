"""An ordinary driver refused a GPU that it supports, in a virtual machine: the GPU is a virtual one."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.fixes.cloud import guest_driver
from gpudoctor.fixes.driver import install_driver
from gpudoctor.maybe import known, text_of
from gpudoctor.queries.cards import alike_cards, generation_of, model_name, works
from gpudoctor.queries.clouds import needs_grid
from gpudoctor.queries.driver import branch
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import OnCard, cards_of, in_container


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    """A whole card that a release does not know is a new one, of the generation that came with its branch."""
    guest, found = guest_driver(on.facts), generation_of(on.card)
    if found is None or all(branch(one.what.get("driver")) != found.first_driver for one in _refusals(on)):
        return (guest,)
    message = "If the host passes the whole GPU through: install a newer driver, for a card newer than this release."
    return (guest, install_driver(on.facts, message=message))


@check(
    title="The driver refuses the GPU: a vGPU needs the guest driver of its host",
    severity=Severity.ERROR,
    cause="A vGPU has the device ID of the whole card, and the kernel module of the data center driver refuses it as "
    "not supported, although it supports that card. Only the vGPU guest (GRID) driver of the host's vGPU release "
    "drives it. NVIDIA's GPU Operator installs it from an image that is built with that driver.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/gpu-operator/issues/1371",
        "https://docs.nvidia.com/vgpu/latest/grid-vgpu-user-guide/",
        "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/install-gpu-operator-vgpu.html",
    ),
    targets=alike_cards,
    only_with=("log.events.kind=nvrm-unsupported",),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def vgpu_driver_needed(on: OnCard) -> Problem | None:
    """The log has the module's refusal, by a release of a branch for this card's generation; GeForce has no vGPU."""
    host = on.facts.host
    if in_container(on.facts) or host.wsl is not None or known(host.virtual) is None or needs_grid(on.facts):
        return None
    if works(on.facts, on.card) or on.card.driver == "vfio-pci" or "GeForce" in text_of(on.card.name):
        return None
    refused = _refusals(on)
    if not refused or any(works(on.facts, c) for c in cards_of(on.facts, "nvidia") if c.device == on.card.device):
        return None  # an identical one that works shows that this driver serves it, and that the card is faulty
    release = refused[-1].what["driver"]
    return Problem(
        f"{model_name(on)} was refused by driver {release}, whose branch supports it. In a virtual machine that shows "
        "a vGPU: a share of the host's GPU.",
        texts(events(on.facts, "nvrm-gpu-named", "nvrm-unsupported", "probe-failed", "no-device-probed")),
    )


def _refusals(on: OnCard) -> list[LogEvent]:
    return [one for one in events(on.facts, "nvrm-unsupported") if _supports(one, on)]


def _supports(event: LogEvent, on: OnCard) -> bool:
    """Whether the release that refused the card is of a branch for its generation."""
    found, refusing = generation_of(on.card), branch(event.what.get("driver"))
    if found is None or found.first_driver is None or refusing is None:
        return False
    return found.first_driver <= refusing <= (found.last_driver or refusing)
