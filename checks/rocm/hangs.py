"""A GPU hung and was reset since amdgpu was loaded."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.fixes import amd, kernel_packages
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.knowledge.regressions import Regression
from gpudoctor.queries.amd_boards import OnBoard, logged_boards, since_loaded
from gpudoctor.queries.kernel_log import ago, texts
from gpudoctor.queries.known_bugs import dkms_bug, kernel_bug
from gpudoctor.tasks import query

# Rings of the video engines: a video decode hung, which does not affect compute.
_VIDEO = ("vcn", "jpeg", "uvd", "vce", "vpe")


def _hangs(on: OnBoard) -> tuple[LogEvent, ...]:
    logged = since_loaded(on, "amdgpu-ring-timeout", "kfd-hang")
    return tuple(e for e in logged if not e.what.get("text", "").startswith(_VIDEO))


_FIXES = (
    Fix(
        "Update to the distribution's newest kernel and linux-firmware, or AMD's newest amdgpu-dkms: many hangs are "
        "scheduler firmware (MES) bugs that a later release fixed. If the hangs began with an update, go back to the "
        "release before it.",
        (),
        "reinstall-package",
        root=True,
        needs="reboot",
        impact="persistent",
    ),
    Fix(
        "If every program hangs: remove overclocking and undervolting, check the power cables, and run the smoke "
        "tests to see whether the card computes correctly under load.",
        (query("gpudoctor", "smoke"),),
        impact="none",
    ),
)


# Integrated GPUs whose scheduler hangs no more without it: ROCm/legacy-rocm-build#6386, #6512, #5590.
_WITHOUT_WAVES = ("gfx1103", "gfx1151")
_WAVES = "If it hangs with those as well: do without the saving of compute waves (CWSR), which debuggers use."


def _bug(on: OnBoard) -> Regression | None:
    """The known bug of AMD's driver package, or of the kernel's own amdgpu, that these hangs show."""
    lines = tuple(event.text for event in _hangs(on))
    return dkms_bug(on.facts, lines) or kernel_bug(on.facts, lines, on.gfx or "", "amdgpu")


def _fixes(on: OnBoard) -> tuple[Fix, ...]:
    """Where the scheduler's firmware itself is silent, the packages that contain it."""
    bug = _bug(on)
    if bug and bug.component == "kernel":
        return kernel_packages.without_bug(on.facts, bug, amd.PROOF)
    if bug:
        return amd.without_dkms(on.facts, bug)
    if not any("MES" in event.text for event in _hangs(on)):
        return (_FIXES[0], *kernel_packages.before_update(on.facts, amd.PROOF), _FIXES[1])
    hidden = amd.without_own_firmware(on.facts)
    whose = "AMD's newest amdgpu-dkms-firmware" if hidden else "the distribution's newest firmware for AMD GPUs"
    newer = amd.newer_firmware(on.facts, f"Install {whose}, and the distribution's newest kernel.")
    waves = (kernel_parameter(on.facts, _WAVES, "amdgpu.cwsr_enable=0"),) if on.gfx in _WITHOUT_WAVES else ()
    return (newer, *hidden, *waves, *amd.older_firmware(on.facts), _FIXES[1])


@check(
    title="AMD GPU hung and was reset",
    severity=Severity.WARNING,
    cause="amdgpu resets a GPU whose queues stop responding; the programs on it fail or hang. Causes are kernels that "
    "never finish, kernels for another gfx target, firmware bugs, or an unstable card.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/gpu/amdgpu/driver-core.html",
        "https://github.com/ROCm/legacy-rocm-build/issues/5724",
        "https://github.com/ROCm/legacy-rocm-build/issues/5566",
        "https://github.com/ROCm/legacy-rocm-build/issues/6386",
        "https://github.com/ROCm/legacy-rocm-build/issues/5997",
    ),
    targets=logged_boards,
    caused_by=(
        "rocm.reset-failed",
        "rocm.bad-pages",
        "rocm.uncorrectable-errors",
        "rocm.override-of-another-isa",
        "rocm.override-left-on",
        "rocm.firmware-regression",
        "rocm.not-driven",
    ),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def hangs(on: OnBoard) -> Problem | None:
    """Timeouts of compute or graphics rings, or of the compute queue scheduler."""
    found = _hangs(on)
    if not found:
        return None
    who = sorted({e.what["process"] for e in since_loaded(on, "amdgpu-culprit") if "process" in e.what})
    names = f", most recently while {' and '.join(who[:3])} {'were' if len(who) > 1 else 'was'} running" if who else ""
    times = "once" if len(found) == 1 else f"{len(found)} times"
    message = f"{on.name} stopped responding {times} since amdgpu was loaded{ago(on.facts, found[-1])}{names}."
    bug, cause = _bug(on), None
    if bug:
        what = "the kernel's own amdgpu" if bug.component == "kernel" else f"the package amdgpu-dkms {bug.first}"
        message += f" T{what[1:]} has a known bug: {bug.what}."
        cause = f"Known bug of {what}: {bug.what}. {bug.source}"
    if amd.without_own_firmware(on.facts) and any("MES" in event.text for event in found):
        message += " Its firmware is that of AMD's package amdgpu-dkms-firmware, which hides linux-firmware's."
    return Problem(message, texts((*found[-3:], *since_loaded(on, "amdgpu-reset")[-1:])), cause)
