"""The guest driver of a virtual GPU does not fit the driver of its host."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.cloud import guest_driver
from gpudoctor.maybe import known_or, phrase
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.kernel_log import ago, texts

_START_ERROR = 78


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    return (guest_driver(on.facts),)


@check(
    title="vGPU guest driver is incompatible with the host's vGPU manager (Xid 78)",
    severity=Severity.ERROR,
    cause="A virtual GPU starts only where the guest's GRID driver is of the host's vGPU release, or of one that this "
    "release supports. When the host is upgraded, older guests (and images made from them) fail with Xid 78. The "
    "GPU itself is healthy.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/vgpu/latest/grid-vgpu-release-notes-generic-linux-kvm/index.html",
        "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
        "https://github.com/skypilot-org/skypilot/issues/10468",
    ),
    targets=nvidia_addresses,
    only_with=("log.events.kind=xid",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def vgpu_host_mismatch(on: OnAddress) -> Problem | None:
    """Xid 78 since the driver was loaded; a GPU that responds has started since."""
    logged = on.xids(_START_ERROR)
    if not logged:
        return None
    have = phrase(" Guest driver: {}.", known_or(on.facts.nvidia.kernel.loaded, None))
    message = f"{on.name}: the guest driver does not match the driver of the vGPU's host{ago(on.facts, logged[-1])}."
    return Problem(message + have, texts(logged), severity=Severity.WARNING if on.answers else None)
