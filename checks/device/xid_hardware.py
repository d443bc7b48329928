"""The driver reported a hardware fault (Xid) and nothing shows that it has passed."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.fixes.card_firmware import ask_vendor
from gpudoctor.fixes.reset import as_required, hangs, reboot_instead
from gpudoctor.knowledge.errors import xid as meaning_of
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.kernel_log import ago, texts
from gpudoctor.tasks import query

# Those have their own checks: power, bus, GSP, memory, NVLink. 93 and 121 need no action by themselves.
_ELSEWHERE = {48, 54, 63, 64, 74, 79, 92, 93, 94, 95, 119, 120, 121, 136, 140, *range(144, 151), 166, 170, 171, 172}


# A GPU that did not start; where the driver logs more about it, that counts.
_NOT_STARTED = 143


def _logged(on: OnAddress) -> tuple[LogEvent, ...]:
    logged = on.events("rm-init-failed", "gsp-refused", "gsp-failed", "gsp-wpr2", "gfw-boot") if not on.answers else ()
    elsewhere = _ELSEWHERE | ({_NOT_STARTED} if logged else set())
    return tuple(e for e in on.xids() if e.code not in elsewhere and _is_hardware(e.code))


def _is_hardware(code: int | None) -> bool:
    found = meaning_of(code) if code is not None else None
    return found is not None and found.fault == "hardware"


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    logged = _logged(on)
    found = meaning_of(logged[-1].code or 0) if logged else None
    vendor = ask_vendor(
        "If it happens again after a reset and a power cycle: collect a report and have the card replaced (RMA)."
    )
    if hangs(on.facts):
        return (reboot_instead(), vendor)
    advice = f"{found.action}." if found else "Reset the GPU."
    reset = as_required(on, advice, query("nvidia-smi", "-q", "-i", on.number))
    return (reset, vendor)


@check(
    title="Xid error: a GPU reported a hardware fault",
    severity=Severity.ERROR,
    cause="The driver logs faults as Xid errors; this one comes from the card, its power or its slot, not from a "
    "program.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",),
    targets=nvidia_addresses,
    only_with=("log.events.kind=xid",),
    caused_by=("device.fallen-off-the-bus", "device.power-cable-missing", "device.row-remap-failed"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def xid_hardware(on: OnAddress) -> Problem | None:
    """Xids of the class hardware since the driver was loaded."""
    logged = _logged(on)
    if not logged:
        return None
    code = logged[-1].code or 0
    found = meaning_of(code)
    message = (
        f"{on.name} reported Xid {code}: {found.meaning if found else 'a hardware fault'}{ago(on.facts, logged[-1])}."
    )
    grave = any(map(_grave, logged)) and not on.passed(logged)
    severity = Severity.ADVICE if on.is_history(logged) else None if grave else Severity.WARNING
    return Problem(message, texts(logged), severity=severity)


def _grave(event: LogEvent) -> bool:
    """Whether NVIDIA asks for an immediate action; after the others programs may continue."""
    found = meaning_of(event.code or 0)
    return found is not None and found.nvidia_action not in (None, "IGNORE")
