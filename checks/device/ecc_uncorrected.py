"""A GPU had memory errors that its ECC could not correct."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.fixes.card_firmware import ask_vendor
from gpudoctor.fixes.reset import reset_commands
from gpudoctor.maybe import phrase
from gpudoctor.queries.cards import OnAddress, nvidia_addresses, required_action
from gpudoctor.queries.kernel_log import texts
from gpudoctor.tasks import query

_CONTAINED, _OTHERS = (94,), (48, 95, 140, 171, 172)


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    verify = query("nvidia-smi", "-q", "-d", "ECC,ROW_REMAPPER,PAGE_RETIREMENT", "-i", on.number)
    reset = Fix(
        "Drain the GPU (no program may use it), reset it, and start the programs again; run a memory test on it.",
        (*reset_commands(on), query("dcgmi", "diag", "-r", "3", root=True)),
        "reset-gpu",
        root=True,
        verify=verify,
    )
    return (reset, ask_vendor("If it happens again: have the card replaced (RMA), with a report for the vendor."))


@check(
    title="Uncorrectable ECC errors in GPU memory",
    severity=Severity.ERROR,
    cause="ECC found errors of more than one bit, which it cannot correct (Xid 48, 94, 95): programs that read them "
    "were stopped or lost their results.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html",
        "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
    ),
    targets=nvidia_addresses,
    only_with=("log.events.kind=xid gpus.ecc_uncorrected",),
    caused_by=(
        "device.row-remap-failed",
        "device.row-remap-pending",
        "device.retired-pages-pending",
        "device.fallen-off-the-bus",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def ecc_uncorrected(on: OnAddress) -> Problem | None:
    """The count since the driver was loaded, or the log; contained errors (94) stop one program only."""
    count = on.gpu.ecc_uncorrected if on.gpu is not None else None
    grave, contained = on.xids(*_OTHERS), on.xids(*_CONTAINED)
    counted = isinstance(count, int) and count > 0
    if not counted and not grave and not contained:
        return None
    number = phrase("{} ", count) if counted else ""
    codes = ", ".join(str(c) for c in sorted({e.code or 0 for e in (*grave, *contained)}))
    message = (
        f"{on.name} had {number}uncorrectable ECC error{'' if count == 1 else 's'} since the driver was "
        f"loaded{f' (Xid {codes})' if codes else ''}.{_reach(grave, contained)}{_blocked(on)}"
    )
    # The count restarts with a reset: at 0, and with a GPU that has worked for a day since, it is over.
    over = count == 0 and on.passed((*grave, *contained))
    severity = Severity.ADVICE if over else None if grave else Severity.WARNING
    return Problem(message, texts((*grave, *contained)), severity=severity)


def _reach(grave: tuple[LogEvent, ...], contained: tuple[LogEvent, ...]) -> str:
    """Which programs are affected: NVIDIA's Xid catalog calls 94 contained, 95 uncontained."""
    if any(event.code == 95 for event in grave):
        return " Xid 95 is uncontained: every program on this GPU is affected."
    if contained and not grave:
        return " Xid 94 is contained: only the program that used that memory was stopped."
    return ""


def _blocked(on: OnAddress) -> str:
    """That the driver lets no program onto the GPU until something is done, in the words of NVML or Xid 154."""
    wanted = required_action(on)
    return (
        "" if wanted is None else f" Since then the driver requires recovery ({wanted}) before new programs can use it."
    )
