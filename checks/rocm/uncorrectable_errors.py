"""An AMD GPU had errors that its ECC could not correct."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.maybe import known
from gpudoctor.queries.amd_boards import OnBoard, boards, since_loaded
from gpudoctor.queries.kernel_log import texts
from gpudoctor.tasks import Shell, as_root, filtered, query


def _logged(on: OnBoard) -> tuple[LogEvent, ...]:
    """Messages about uncorrected errors; a block without any reports 0."""
    return tuple(e for e in since_loaded(on, "amdgpu-ras") if e.code and "uncorrectable" in e.what.get("text", ""))


def _fixes(on: OnBoard) -> tuple[Fix, ...]:
    return (
        Fix(
            "Stop all programs on this GPU and reboot: bad memory pages are then retired.",
            (as_root("reboot"),),
            "reboot",
            root=True,
            needs="reboot",
            verify=query("cat", f"/sys/bus/pci/devices/{on.address}/ras/umc_err_count"),
        ),
        Fix(
            "If it happens again: send the vendor the counts per block; the service guide defines when to replace the "
            "card.",
            (
                Shell(f"grep . /sys/bus/pci/devices/{on.address}/ras/*_err_count", lookup=True),
                filtered(query("dmesg", root=True), query("grep", "-i", "hardware error")),
            ),
            "ask-vendor",
            root=True,
            impact="none",
        ),
    )


@check(
    title="AMD GPU has uncorrectable hardware errors (RAS)",
    severity=Severity.WARNING,
    cause="Instinct cards and some workstation cards monitor their memory and caches (RAS). A multi-bit error cannot "
    "be corrected: the program that reads it is killed, or the GPU is reset.",
    fixes=_fixes,
    references=(
        "https://docs.kernel.org/gpu/amdgpu/ras.html",
        "https://rocm.docs.amd.com/projects/amdsmi/en/latest/",
    ),
    targets=boards,
    caused_by=("rocm.bad-pages",),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def uncorrectable_errors(on: OnBoard) -> Problem | None:
    """Counts of amdgpu since it was loaded, or its messages."""
    counts = [gpu.ecc_uncorrected for gpu in on.gpus]
    counted = max((n for n in counts if isinstance(n, int)), default=0)
    logged = _logged(on)
    if not counted and not logged:
        for count in counts:
            known(count)
        return None
    number = counted or max(e.code or 0 for e in logged)
    errors = "error" if number == 1 else "errors"
    return Problem(f"{on.name} had {number} uncorrectable hardware {errors} since amdgpu was loaded.", texts(logged))
