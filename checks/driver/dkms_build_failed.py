"""DKMS or akmods failed to build NVIDIA's module: the first error of the log decides why."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import module_build
from gpudoctor.fixes.hold import keep_kernel
from gpudoctor.knowledge import build_errors
from gpudoctor.maybe import known, known_or, phrase
from gpudoctor.queries.cause_groups import DEAD
from gpudoctor.queries.driver import library_version, own_kernel
from gpudoctor.queries.history import driver_lines, kernel_lines
from gpudoctor.targets import cards_of


def _why(facts: Facts, error: build_errors.BuildError | None) -> str:
    """The sentence of the message that names the cause; empty where the log names none."""
    if error is None:
        return ""
    if error.kind == "compiler":
        built_by = known_or(facts.host.kernel.compiler, None)
        what = f"The kernel was built with {built_by}; DKMS used" if built_by else "The build used"
        return f" {what} an older or different compiler."
    return f" {module_build.sentence(facts, error)}" if error.kind in ("package", "tool") else ""


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return (*module_build.fixes(facts, module_build.first_error(facts)), *keep_kernel(facts))


@check(
    title="NVIDIA's kernel module failed to build (DKMS, akmods)",
    severity=Severity.ERROR,
    cause="DKMS or akmods recompiles the module for every kernel. The build fails at the first error of its "
    "log: a missing tool, a compiler older than the one that built the kernel (it lacks an option), a real-time "
    "kernel, a GPL-only symbol, a full disk, or a driver branch older than the kernel.",
    fixes=_fixes,
    references=("https://github.com/dell/dkms", "https://github.com/pop-os/pop/issues/3117"),
    targets=own_kernel,
    caused_by=(*DEAD, "driver.realtime-kernel", "driver.headers-missing"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def dkms_build_failed(facts: Facts) -> Problem | None:
    """The lines of make.log that name the error, where the module is missing or older than the libraries."""
    kernel = facts.nvidia.kernel
    if not kernel.dkms_errors or not cards_of(facts, "nvidia"):
        return None
    loaded, user = known(kernel.loaded), library_version(facts)
    if loaded is not None and user in (loaded, None):
        return None  # the build of an unused version
    error, by = module_build.first_error(facts), "akmods" if kernel.akmods_log else "DKMS"
    message = (
        f"{by} could not build NVIDIA's module{phrase(' {}', module_build.tried(facts))} for kernel "
        f"{module_build.kernel_of(facts)}.{_why(facts, error)}"
    )
    lines = tuple(dict.fromkeys((error.line, *kernel.dkms_errors) if error else kernel.dkms_errors))
    log = (kernel.akmods_log,) if kernel.akmods_log else ()
    cause = module_build.sentence(facts, error) if error and error.kind != "compiler" else None
    return Problem(message, (*(kernel_lines(facts) or driver_lines(facts, user)), *log, *lines[:4]), cause)
