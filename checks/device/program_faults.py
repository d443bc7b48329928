"""A program made an illegal access on the GPU recently: usually the program's fault, not the machine's."""

from collections import Counter

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.digits import numbers_in
from gpudoctor.facts import LogEvent
from gpudoctor.fixes import NVIDIA_SMI
from gpudoctor.fixes.boot import into_kernel
from gpudoctor.fixes.driver import branch_of, install_driver
from gpudoctor.fixes.module import on_the_host
from gpudoctor.knowledge.errors import xid as meaning_of
from gpudoctor.knowledge.regressions import Regression, regressions
from gpudoctor.maybe import known_or, phrase
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.kernel_log import WEEK, age, ago, texts, xids
from gpudoctor.targets import in_container
from gpudoctor.tasks import cmd, query
from gpudoctor.tasks.placeholders import SCRIPT

# Illegal instruction or access of a kernel, page fault, fault over NVLink: CUDA returns errors 700 to 719.
# 43 and 45 only clean up after them.
_BY_PROGRAMS = (13, 31, 69, 137)
# Seconds: a user who checks now has a program in mind that failed just now.
_RECENT = 3 * 3600.0
# One program that failed so often in a week fails again.
_AGAIN = 3

# Kernels of Red Hat and Ubuntu for Arm with pages of 64 KiB have it in their names, and it is the sign in the table.
_LARGE_PAGES = "64k"
# Its page tables have no entry for an address that the program has mapped.
_UNMAPPED = "FAULT_PTE"

_FIXES = (
    Fix(
        "Run the program under NVIDIA's Compute Sanitizer, which names the kernel and the line that reads or writes "
        "out of bounds.",
        (query("compute-sanitizer", "--tool", "memcheck", "python", SCRIPT),),
        "change-environment",
        impact="none",
    ),
    Fix(
        "Set CUDA_LAUNCH_BLOCKING=1, so that the error appears at the kernel launch that caused it.",
        (cmd("python", SCRIPT, env=(("CUDA_LAUNCH_BLOCKING", "1"),)),),
        "change-environment",
        impact="none",
    ),
)


def _unmapped(on: OnAddress) -> tuple[LogEvent, ...]:
    return tuple(e for e in on.logged_xids(31) if _UNMAPPED in e.text and _within(on, e, WEEK))


def _bug(on: OnAddress) -> Regression | None:
    """The driver's known bug with the kernel's large pages ("5.14.0-...aarch64+64k"), where a fault is of that kind."""
    release = known_or(on.facts.nvidia.kernel.loaded, None)
    if release is None or _LARGE_PAGES not in known_or(on.facts.host.kernel.release, ""):
        return None
    return next(iter(regressions("nvidia", release, sign=_LARGE_PAGES)), None) if _unmapped(on) else None


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    bug = _bug(on)
    if bug is None:
        return _FIXES
    if in_container(on.facts):
        return (on_the_host(f"On the host: boot a kernel with pages of 4 KiB, or install driver {bug.good}."),)
    message = f"Install driver {bug.good}, or a newer one of its branch, then reboot."
    older = install_driver(on.facts, branch_of(bug.good), message=message)
    plain = [name for name in known_or(on.facts.host.kernel.others, ()) if _LARGE_PAGES not in name]
    if not plain:
        return (older,)
    kernel = max(plain, key=numbers_in)
    return (into_kernel(on.facts, kernel, f"Boot kernel {kernel}, whose pages have 4 KiB.", NVIDIA_SMI), older)


@check(
    title="A program made an illegal memory access on a GPU (Xid 13, 31)",
    severity=Severity.ADVICE,
    cause="The driver stopped a program whose kernel read or wrote out of bounds, or hit an illegal instruction (Xid "
    "13, 31). That is a bug in the program or its library; the GPU is healthy and runs the next program.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
        "https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/index.html",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1269",
    ),
    targets=nvidia_addresses,
    only_with=("log.events.kind=xid",),
    caused_by=(
        "device.faults-on-one-card",
        "device.fallen-off-the-bus",
        "device.gsp-failed",
        "device.needs-reset",
        "device.xid-hardware",
        "device.ecc-uncorrected",
        "device.row-remap-failed",
        "device.nvlink-fault",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def program_faults(on: OnAddress) -> Problem | None:
    """Such Xids of the last hours, or of one program again and again; without a time nothing shows that they are."""
    everywhere = Counter(e.what.get("process") for e in xids(on.facts, None, *_BY_PROGRAMS) if _within(on, e, WEEK))
    bug = _bug(on)
    logged = (
        _unmapped(on)
        if bug
        else tuple(
            e
            for e in on.logged_xids(*_BY_PROGRAMS)
            if _within(on, e, WEEK if e.what.get("process") and everywhere[e.what["process"]] >= _AGAIN else _RECENT)
        )
    )
    if not logged:
        return None
    last = logged[-1]
    found = meaning_of(last.code or 0)
    process = last.what.get("process")
    pid = last.what.get("pid")
    who = f"{process}{phrase(' (pid {})', pid)}" if process else phrase("The program with pid {}", pid) or "A program"
    what = found.meaning.partition(":")[0] if found else "a fault"
    message = f"{who} was stopped on {on.name}: {phrase('Xid {}, ', last.code)}{what}{ago(on.facts, last)}."
    if bug:
        message += f"{phrase(' Driver {}', known_or(on.facts.nvidia.kernel.loaded, None))} has a known bug: {bug.what}."
        cause = f"Known bug of the driver: {bug.what}. {bug.source}"
        return Problem(message, texts(logged), cause, Severity.WARNING)
    if process and everywhere[process] >= _AGAIN:
        cards = {e.gpu for e in xids(on.facts, None, *_BY_PROGRAMS) if e.what.get("process") == process}
        if len(cards) > 1:
            message += f" {process} fails so on {len(cards)} GPUs: the program is at fault, not a card."
            return Problem(message, texts(logged), severity=Severity.WARNING)
    return Problem(message, texts(logged))


def _within(on: OnAddress, event: LogEvent, most: float) -> bool:
    seconds = age(on.facts, event)
    return seconds is not None and seconds <= most and event.what.get("pid") is not None
