"""The CPU's protection of indirect branches stops NVIDIA's module."""

from itertools import pairwise

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.fixes import NVIDIA_SMI
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.lazy_regex import pattern
from gpudoctor.queries.cards import any_works
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.kernel_log import events, texts

_BTI = (
    "arm64 kernels with CONFIG_ARM64_BTI_KERNEL, which those built with LLVM have on, check that indirect branches "
    "land on a BTI instruction. NVIDIA's modules were built without them, so the kernel stops the first such call."
)
# Names of the module's own functions, where the kernel does not name the module.
_OURS = pattern(r"_nv\d+rm|_?port[A-Z]\w+|nvidia_\w+")


def _ours(event: LogEvent) -> bool:
    module, symbol = event.what.get("module", ""), event.what.get("text", "")
    return module.startswith("nvidia") or (not module and bool(_OURS.match(symbol)))


def _bti(facts: Facts) -> tuple[LogEvent, ...]:
    """What arm64's kernel writes of a jump in NVIDIA's module: the header, and the line of the instruction."""
    found = events(facts, "bti-trap", "oops", "oops-place")
    pairs = ((header, place) for header, place in pairwise(found) if header.kind == "bti-trap")
    return next((pair for pair in pairs if pair[1].what.get("module", "").startswith("nvidia")), ())


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if _bti(facts):
        other = "Or use a kernel built without CONFIG_ARM64_BTI_KERNEL."
        return (kernel_parameter(facts, f"Disable branch target identification. {other}", "arm64.nobti", NVIDIA_SMI),)
    message = "Disable indirect branch tracking."
    newer = Fix(
        "Use a newer driver, or a kernel built with the distribution's own compiler: a module that is compiled "
        "for IBT works with it.",
        (),
        "reboot",
        root=True,
        needs="reboot",
    )
    return kernel_parameter(facts, message, "ibt=off", NVIDIA_SMI), newer


@check(
    title="Indirect branch tracking (IBT, BTI) stops NVIDIA's kernel module",
    severity=Severity.ERROR,
    cause="From kernel 5.18 on the CPU can check that every indirect branch lands on an ENDBR instruction. This "
    "module was built without them, so the kernel stops it with a BUG on its first call.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/256",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1255",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/771",
        "https://docs.kernel.org/admin-guide/kernel-parameters.html",
    ),
    targets=own_kernel,
    caused_by=("driver.built-for-another-kernel",),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def stopped_by_ibt(facts: Facts) -> Problem | None:
    """The kernel's message about a function of the module, and no GPU that works."""
    logged, bti = tuple(e for e in events(facts, "ibt-trap") if _ours(e)), _bti(facts)
    if not (logged or bti) or any_works(facts):
        return None
    if bti:
        message = "The kernel stopped NVIDIA's module: its code has no BTI instructions (branch target identification)."
        return Problem(message, texts(bti), _BTI)
    return Problem("The kernel stopped NVIDIA's module: it was built without ENDBR instructions (IBT).", texts(logged))
