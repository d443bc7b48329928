"""NVLink or NVSwitch reported a fault."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.fixes.reset import reset
from gpudoctor.knowledge.errors import nvlink5_error_of, sxid
from gpudoctor.maybe import phrase
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.driver import not_wsl
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import gpus_of
from gpudoctor.tasks import as_root, query

_XIDS = (74, 136, *range(144, 151), 155, 166, 170)
# Links that software took down (155), and notes of confidential computing: faults only where links stay down.
_NOT_BY_THEMSELVES = (155, 166, 170)
_RESET = "RESET_GPU"
_LATER = (
    Fix(
        "If the reset fails, or links stay down after it: reboot.",
        (as_root("reboot"),),
        "reboot",
        root=True,
        needs="reboot",
        verify=query("nvidia-smi", "nvlink", "--status"),
    ),
    Fix(
        "If it happens again: check the bridge where PCIe cards have one, collect a report, and ask the vendor's "
        "support to replace the GPU, its board or a switch.",
        (query("nvidia-smi", "nvlink", "-e"), query("nvidia-bug-report.sh", root=True)),
        "ask-vendor",
        root=True,
        impact="none",
    ),
)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    status = query("nvidia-smi", "nvlink", "--status")
    message = "Drain the node, stop the programs on its GPUs, and reset the GPUs at both ends of the link."
    return (Fix(message, (status, *reset(facts)), "reset-gpu", root=True, verify=status), *_LATER)


def _fatal(event: LogEvent) -> bool:
    """Whether this line itself is the fault; NVLink 5 lines contain Fatal or Nonfatal, NVSwitch has a table."""
    if event.kind == "sxid":
        found = sxid(event.code or 0)
        return found is not None and found.severity in ("always_fatal", "fatal")
    if event.code in _NOT_BY_THEMSELVES:
        return False
    if event.code in range(144, 151):
        known_error = nvlink5_error_of(event.code or 0, event.text)
        if known_error is not None and known_error.nvidia_action != _RESET:
            return False  # links that go down on purpose, and what Xid 154 decides
        return "Nonfatal" not in event.text or (known_error is not None and known_error.severity == "Fatal")
    return True


def _stopped_by(on: OnAddress, event: LogEvent) -> bool:
    """Whether the driver stopped programs because of it: then it was not corrected, whatever the line calls it.

    It logs an Xid 45 of each channel: "Ch 00000008 caused by previous Xid 145".
    """
    ending = phrase("caused by previous Xid {}", event.code)
    return event.code in range(144, 151) and any(e.text.endswith(ending) for e in on.xids(45))


def _down(on: OnAddress) -> bool:
    """Whether links are down on this GPU that are up on the other ones."""
    links = on.gpu.nvlinks if on.gpu is not None and isinstance(on.gpu.nvlinks, tuple) else ()
    sisters = [g for g in gpus_of(on.facts, "nvidia") if on.gpu is not None and g.index != on.gpu.index]
    return False in links and any(isinstance(g.nvlinks, tuple) and True in g.nvlinks for g in sisters)


def _grave(on: OnAddress, logged: tuple[LogEvent, ...]) -> tuple[LogEvent, ...]:
    """The errors that stop programs: all of them where links are down."""
    return tuple(e for e in logged if _down(on) or _fatal(e) or _stopped_by(on, e))


def _all_well(facts: Facts) -> bool:
    """Whether it had no effect: CUDA starts, and every GPU's links are up."""
    links = [g.nvlinks for g in gpus_of(facts, "nvidia")]
    return facts.nvidia.cuda.code == 0 and all(isinstance(up, tuple) and all(up) for up in links)


@check(
    title="NVLink or NVSwitch fault",
    severity=Severity.ERROR,
    cause="A link between GPUs or to the NVSwitch failed (Xid 74, 144 to 150; SXid). Multi-GPU programs stop; the "
    "many Xid 45 lines that follow are only the cleanup of their channels.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1150",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1355",
    ),
    targets=not_wsl,
    caused_by=("device.fallen-off-the-bus",),
    affects=("several-gpus",),
    validated_on=("simulated 2026-11",),
)
def nvlink_fault(facts: Facts) -> Problem | None:
    """Fatal NVLink Xids since the driver was loaded; all of them are one finding: one end takes down the other."""
    faulty = [(on, logged) for _, on in nvidia_addresses(facts) if (logged := on.xids(*_XIDS))]
    switch = tuple(e for e in events(facts, "sxid") if _fatal(e))
    fatal = [(on, logged) for on, logged in faulty if _grave(on, logged)]
    if not fatal and not switch:
        return None
    lines = texts((*(e for _, logged in (fatal or faulty) for e in logged), *switch), 6)
    if not fatal:
        where, code = phrase(" at {}", switch[0].gpu), phrase("SXid {}: ", switch[0].code)
        message = f"The NVSwitch{where} reported {code}a link or switch fault."
        return Problem(message, lines, severity=Severity.WARNING if _all_well(facts) else None)
    on, logged = fatal[0]
    xid = phrase(" (Xid {})", _grave(on, logged)[0].code)
    down = " Its links are down (inactive)." if _down(on) else ""
    if not down and any(_stopped_by(on, e) for e in logged):
        down = " The driver stopped the programs that used the link (Xid 45)."
    rest = [other.name for other, _ in faulty if other.address != on.address]
    others = f" {' and '.join(rest[:3])} reported link errors as well." if rest else ""
    over = all(one.passed(found) and not _down(one) for one, found in fatal)
    severity = Severity.WARNING if over else None
    return Problem(f"{on.name} reported an NVLink fault{xid}.{down}{others}", lines, severity=severity)
