"""A GPU of AMD's met errors that its error correction could not mend."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import LogEvent
from gpudoctor.maybe import known
from gpudoctor.queries.amd_boards import OnBoard, boards, since_loaded
from gpudoctor.queries.kernel_log import texts
from gpudoctor.tasks import Shell, as_root, filtered, query


def _told(on: OnBoard) -> tuple[LogEvent, ...]:
    """Messages of errors that were not mended; those of a block that counts none say 0."""
    return tuple(e for e in since_loaded(on, "amdgpu-ras") if e.code and "uncorrectable" in e.what.get("text", ""))


def _fixes(on: OnBoard) -> tuple[Fix, ...]:
    return (
        Fix(
            "End the programs on this GPU and restart the computer: bad pages of memory are taken out of use then.",
            (as_root("reboot"),),
            "reboot",
            root=True,
            needs="reboot",
            verify=query("cat", f"/sys/bus/pci/devices/{on.address}/ras/umc_err_count"),
        ),
        Fix(
            "If it comes back: ask the vendor with the counts of each block; their service guide says when to replace.",
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
    title="A GPU met uncorrectable hardware errors",
    severity=Severity.WARNING,
    cause="Instinct cards and some workstation cards watch their memory and caches (RAS). An error of more than one "
    "bit cannot be mended: the program that reads it is ended, or its GPU is reset.",
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
    told = _told(on)
    if not counted and not told:
        for count in counts:
            known(count)
        return None
    number = counted or max(e.code or 0 for e in told)
    errors = "error" if number == 1 else "errors"
    return Problem(f"{on.name} met {number} uncorrectable hardware {errors} since amdgpu was loaded.", texts(told))
