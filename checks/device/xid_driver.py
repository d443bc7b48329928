"""The driver reported a fault in its own software (Xid)."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.fixes.driver import best_branch, branch_of, install_driver, other_release
from gpudoctor.fixes.reset import as_required
from gpudoctor.knowledge.errors import xid as meaning_of
from gpudoctor.maybe import known_or
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.driver import CUDA_UNKNOWN
from gpudoctor.queries.kernel_log import ago, events, texts
from gpudoctor.tasks import query

# A fault that only needs the program restarted, or is on the display side, matters only where it repeats.
_OFTEN = 3
_RESETS = ("reset", "reboot", "bus-reset", "system-reboot")


def _logged(on: OnAddress) -> tuple[LogEvent, ...]:
    found: dict[int, list[LogEvent]] = {}
    for event in on.xids():
        if _counts(event.code or 0):
            found.setdefault(event.code or 0, []).append(event)
    grave = [
        e for code, group in found.items() if len(group) >= _often(code) or _holds_cuda(on, group[-1]) for e in group
    ]
    return tuple(grave)


def _holds_cuda(on: OnAddress, last: LogEvent) -> bool:
    """Whether CUDA does not start since this fault: a GPU that hangs, unless the machine has slept in between.

    NVIDIA/open-gpu-kernel-modules#1159: one Xid 8, and nothing computes until the next boot.
    """
    if on.facts.nvidia.cuda.code != CUDA_UNKNOWN or on.facts.nvidia.nvml.code != 0:
        return False
    order = events(on.facts, "xid", "suspend", "resume")
    return not any(event.kind != "xid" for event in order[order.index(last) + 1 :])


def _severity(on: OnAddress, logged: tuple[LogEvent, ...]) -> Severity | None:
    """A fault after which the driver requires a reset keeps the GPU from working; one of days ago is history."""
    if on.gpu is not None and (on.gpu.status == "reset-required" or on.gpu.recovery_action in _RESETS):
        return Severity.ERROR
    return Severity.ADVICE if on.passed(logged) and not _holds_cuda(on, logged[-1]) else None


def _counts(code: int) -> bool:
    """Whether the driver is at fault and NVIDIA asks for an action; the Xids of GSP and vGPUs have their own checks."""
    found = meaning_of(code)
    if found is None or found.fault != "driver" or code in (78, 119, 120):
        return False
    return found.nvidia_action not in ("IGNORE", None)


def _often(code: int) -> int:
    found = meaning_of(code)
    return _OFTEN if found is not None and found.nvidia_action in ("RESTART_APP", "CONTACT_SUPPORT") else 1


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    logged = _logged(on)
    found = meaning_of(logged[-1].code or 0) if logged else None
    action = f"{found.action}." if found else "Reset the GPU."
    if logged and _holds_cuda(on, logged[-1]):
        action = "Reset the GPU; where that hangs or does not help, reboot."
    reset = as_required(on, action, query("nvidia-smi", "-q", "-i", on.number))
    have, best = branch_of(known_or(on.facts.nvidia.kernel.loaded, None)), best_branch(on.facts)
    if have is None or best is None or best <= have:
        # The newest branch faults again and again: only another release of it, or the branch before, is left.
        return (reset, *(other_release(on.facts) if len(logged) >= _OFTEN else ()))
    return (reset, install_driver(on.facts, best, message=f"If it happens again: install driver branch {best}."))


@check(
    title="Xid error: NVIDIA's driver reported a software fault",
    severity=Severity.WARNING,
    cause="The driver logs faults as Xid errors; this one comes from the driver's software or firmware. A GPU reset "
    "or a newer driver usually fixes it.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/962",
    ),
    targets=nvidia_addresses,
    only_with=("log.events.kind=xid",),
    caused_by=("device.fallen-off-the-bus", "device.gsp-failed", "device.xid-hardware", "device.nvlink-fault"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def xid_driver(on: OnAddress) -> Problem | None:
    """Xids of the class driver since it was loaded."""
    logged = _logged(on)
    if not logged:
        return None
    code = logged[-1].code or 0
    found = meaning_of(code)
    what = f"{found.meaning if found else 'a fault'}{ago(on.facts, logged[-1])}"
    times = f" {len(logged)} times" if len(logged) > 1 else ""
    lines = texts((*on.events("gpu-locked"), *logged))
    return Problem(f"{on.name} reported Xid {code}{times}: {what}.", lines, severity=_severity(on, logged))
