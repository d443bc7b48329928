"""Programs accessed GPU memory that is not theirs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import amd, kernel_packages
from gpudoctor.knowledge.regressions import Regression, known_bug, regressions
from gpudoctor.maybe import known_or, phrase, present
from gpudoctor.queries.amd_boards import OnBoard, logged_boards, since_loaded
from gpudoctor.queries.kernel_log import ago, texts
from gpudoctor.queries.known_bugs import dkms_bug
from gpudoctor.tasks import Shell, cmd
from gpudoctor.tasks.placeholders import REST

_PROGRAM = (
    Fix(
        "Rerun the program with blocking launches, so that the error appears at the call that caused it.",
        (
            cmd(
                "python3",
                REST,
                env=(
                    ("AMD_SERIALIZE_KERNEL", "3"),
                    ("HIP_LAUNCH_BLOCKING", "1"),
                ),
            ),
        ),
        "change-environment",
        impact="none",
    ),
    Fix(
        "If programs fail that used to work: go back to the framework and driver versions that worked, and unset "
        "HSA_OVERRIDE_GFX_VERSION.",
        (),
        "reinstall-package",
    ),
)


def _fetches(on: OnBoard) -> bool:
    """Whether the GPU's command processor faulted by itself, for more than one program.

    CPF fetches what the scheduler firmware (MES, HWS) points it to; a program's own bad access comes from the shader
    caches (TCP, SQC).
    """
    clients = since_loaded(on, "amdgpu-fault-client")
    faults = since_loaded(on, "amdgpu-fault")
    hangs = tuple(event.text for event in since_loaded(on, "amdgpu-ring-timeout"))
    if dkms_bug(on.facts, hangs):
        return False  # rocm.hangs names it
    return len(faults) > 1 and len(clients) > 1 and all(e.what.get("text", "").startswith("CP") for e in clients)


def _small_areas(on: OnBoard) -> tuple[str, ...]:
    """What here sizes the area for saved waves of a GPU whose command processor faulted too small."""
    clients, gfx = since_loaded(on, "amdgpu-fault-client"), on.gfx or ""
    faulted = any(e.what.get("text", "").startswith("CP") for e in clients)
    if not faulted or known_bug("kfd", gfx, "CP") is None:
        return ()
    release = known_or(on.facts.amd.rocm, None)
    kernel = phrase("kernel {}", on.facts.host.kernel.release) if any(g.wave_area is None for g in on.gpus) else ""
    runtime = f"ROCm {release}" if release and regressions("rocm", release, gfx, "CP") else ""
    return tuple(filter(None, (kernel, runtime)))


def _fixed(on: OnBoard) -> tuple[Regression, Regression]:
    """The kernel and the ROCm that size that area right."""
    return present(known_bug("kfd", on.gfx or "", "CP")), present(known_bug("rocm", on.gfx or "", "CP"))


def _waves(on: OnBoard) -> str:
    kernel, rocm = _fixed(on)
    return (
        "When the driver preempts a queue, the GPU saves the registers (VGPRs) of its waves into an area that KFD and "
        f"ROCr size. Both counted too few registers for {kernel.gpus}, so the firmware writes past the area: a page "
        "fault of the command processor (CPF) as soon as a program runs. KFD exports its size (cwsr_size) from kernel "
        f"{kernel.fixed} on ({kernel.also}), and ROCr takes it from there from ROCm {rocm.fixed} on: both are needed."
    )


def _firmware(on: OnBoard) -> str:
    bug = known_bug("linux-firmware", on.gfx or "")
    known = f" Known of {bug.gpus}: linux-firmware {bug.first}; {bug.what}." if bug else ""
    return (
        "The scheduler firmware (MES) in the firmware package has a bug for this GPU, so that every program ends in a "
        f"page fault of the command processor (CPF); the releases before or after it work.{known}"
    )


def _fixes(on: OnBoard) -> tuple[Fix, ...]:
    small = _small_areas(on)
    if small:
        return _larger_areas(on, small)
    if not _fetches(on):
        return _PROGRAM
    newer = amd.newer_firmware(on.facts, "Install the distribution's newest firmware for AMD GPUs.")
    return (newer, *amd.older_firmware(on.facts))


def _larger_areas(on: OnBoard, small: tuple[str, ...]) -> tuple[Fix, ...]:
    kernel, rocm = _fixed(on)
    runtime = (
        f"ROCm {rocm.fixed} or newer, and frameworks built for it (PyTorch: a wheel for rocm{rocm.fixed} or newer, or "
        f"AMD's nightly builds of TheRock for {kernel.gpus})."
    )
    if not small[0].startswith("kernel"):
        return (Fix(f"Install {runtime}", (), "reinstall-package"),)
    exported = Shell("grep cwsr_size /sys/class/kfd/kfd/topology/nodes/*/properties", lookup=True)
    message = f"Install kernel {kernel.fixed} or newer, or {kernel.also} or newer."
    message += f" It needs {runtime}" if len(small) > 1 else ""
    return (kernel_packages.newer_kernel(on.facts, message, exported),)


@check(
    title="GPU page fault killed a program (Memory access fault by GPU node)",
    severity=Severity.ADVICE,
    cause="A kernel accessed an address that its program does not own; the runtime then kills the program with "
    "'Memory access fault by GPU node'. The bug is nearly always in the program, or in a library with kernels for "
    "another gfx target, not in the machine.",
    fixes=_fixes,
    references=(
        "https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/debugging.html",
        "https://docs.kernel.org/gpu/amdgpu/debugging.html",
        "https://github.com/ROCm/legacy-rocm-build/issues/5724",
        "https://github.com/ROCm/TheRock/issues/2991",
    ),
    targets=logged_boards,
    caused_by=(
        "rocm.hangs",
        "rocm.reset-failed",
        "rocm.uncorrectable-errors",
        "rocm.override-of-another-isa",
        "rocm.override-left-on",
        "rocm.firmware-regression",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def page_faults(on: OnBoard) -> Problem | None:
    """The log has faults of the GPU's address translation."""
    faults = since_loaded(on, "amdgpu-fault")
    if not faults:
        return None
    named = (*faults, *since_loaded(on, "amdgpu-culprit"))
    who = sorted({e.what["process"] for e in named if "process" in e.what})
    program = " and ".join(who[:3]) or "A program"
    message = f"{program} hit a page fault on {on.within}{ago(on.facts, faults[-1])}."
    clients = since_loaded(on, "amdgpu-fault-client")
    small = _small_areas(on)
    if small:
        message += f" The area for saved waves is too small for {present(on.gfx)} in {' and in '.join(small)}."
        return Problem(message, texts((*faults[-3:], clients[-1])), _waves(on), Severity.WARNING)
    if not _fetches(on):
        return Problem(message, texts(faults[-3:]))
    message += " The GPU's command processor faulted, not a kernel of the programs: its firmware is likely broken."
    return Problem(message, texts((*faults[-3:], clients[-1])), _firmware(on), Severity.WARNING)
