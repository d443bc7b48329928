"""amdgpu tried to reset a GPU that hung, and failed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.fixes import amd
from gpudoctor.fixes.card_firmware import power_cycle
from gpudoctor.queries.amd_boards import OnBoard, logged_boards, since_loaded
from gpudoctor.queries.kernel_log import ago, texts
from gpudoctor.tasks import filtered, query

_COMES_BACK = Fix(
    "If it happens again: remove overclocking and undervolting, check power cables and riser, and try another kernel "
    "and linux-firmware release; test the card in another machine to see whether it is broken.",
    (filtered(query("dmesg", root=True), query("grep", "-i", "amdgpu"), query("tail", "-n", "60")),),
    "replace-hardware",
    root=True,
    impact="none",
)


def failure(on: OnBoard) -> LogEvent | None:
    """The last attempt, where it failed or the card left the bus; None where the last one succeeded."""
    logged = since_loaded(on, "amdgpu-reset", "amdgpu-lost")
    decided = [event for event in logged if "reset begin" not in event.text]
    return decided[-1] if decided and "succeeded" not in decided[-1].text else None


def _fixes(on: OnBoard) -> tuple[Fix, ...]:
    message = "Power the machine off and on again; a reboot alone may not reset the card."
    return power_cycle(on.facts, message, amd.PROOF), _COMES_BACK


@check(
    title="AMD GPU hung, and its reset failed",
    severity=Severity.ERROR,
    cause="When a program hangs on the GPU, amdgpu resets it. If that fails, or the card has dropped off the PCI bus, "
    "every program that uses it fails or hangs until the next power cycle. Causes are power, heat, a riser, "
    "overclocking, and firmware or driver bugs.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/gpu/amdgpu/driver-core.html",
        "https://docs.kernel.org/gpu/drm-uapi.html",
    ),
    targets=logged_boards,
    caused_by=("rocm.bad-pages", "rocm.not-driven"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def reset_failed(on: OnBoard) -> Problem | None:
    """The last reset of this GPU in the log failed."""
    event = failure(on)
    if event is None:
        return None
    what = "dropped off the PCI bus" if event.kind == "amdgpu-lost" else "could not be reset"
    first, then = since_loaded(on, "amdgpu-ring-timeout", "kfd-hang"), since_loaded(on, "amdgpu-reset", "amdgpu-lost")
    return Problem(f"{on.name} hung and {what}{ago(on.facts, event)}.", texts((*first[-1:], *then[-3:])))
