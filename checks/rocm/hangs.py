"""A GPU hung and was reset since amdgpu was loaded."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.queries.amd_boards import OnBoard, logged_boards, since_loaded
from gpudoctor.queries.kernel_log import ago, texts
from gpudoctor.tasks import query

# Rings of the video engines: decoding a film hung, which is no matter of computing.
_VIDEO = ("vcn", "jpeg", "uvd", "vce", "vpe")


def _hangs(on: OnBoard) -> tuple[LogEvent, ...]:
    told = since_loaded(on, "amdgpu-ring-timeout", "kfd-hang")
    return tuple(e for e in told if not e.what.get("text", "").startswith(_VIDEO))


_FIXES = (
    Fix(
        "Take the newest kernel and linux-firmware of the distribution, or AMD's newest amdgpu-dkms: many hangs are "
        "bugs of the scheduler's firmware (MES) that a later release has mended. Where hangs began with an update, go "
        "back to the release before it.",
        (),
        "reinstall-package",
        root=True,
        needs="reboot",
        impact="persistent",
    ),
    Fix(
        "If every program meets it: take away overclocking and undervolting, and check the power cables; run the smoke "
        "tests to see whether the card computes well under load.",
        (query("gpudoctor", "smoke"),),
        impact="none",
    ),
)


@check(
    title="A GPU hung and was reset",
    severity=Severity.WARNING,
    cause="amdgpu resets a GPU whose queues stop answering; the programs on it end with an error or hang. It comes "
    "from a program whose kernels never end, kernels for another gfx target, bugs of firmware, or an unstable card.",
    fixes=_FIXES,
    references=(
        "https://docs.kernel.org/gpu/amdgpu/driver-core.html",
        "https://github.com/ROCm/legacy-rocm-build/issues/5724",
        "https://github.com/ROCm/legacy-rocm-build/issues/6386",
    ),
    targets=logged_boards,
    caused_by=(
        "rocm.reset-failed",
        "rocm.bad-pages",
        "rocm.uncorrectable-errors",
        "rocm.override-of-another-isa",
        "rocm.override-left-on",
        "rocm.not-driven",
    ),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def hangs(on: OnBoard) -> Problem | None:
    """Timeouts of rings that compute or draw, or of the scheduler of compute queues."""
    found = _hangs(on)
    if not found:
        return None
    who = sorted({e.what["process"] for e in since_loaded(on, "amdgpu-culprit") if "process" in e.what})
    names = f", last while {' and '.join(who[:3])} ran" if who else ""
    times = "once" if len(found) == 1 else f"{len(found)} times"
    message = f"{on.name} stopped answering {times} since amdgpu was loaded{ago(on.facts, found[-1])}{names}."
    return Problem(message, texts((*found[-3:], *since_loaded(on, "amdgpu-reset")[-1:])))
