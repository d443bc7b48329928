"""A GPU corrects so many memory errors that the driver reports it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.kernel_log import texts
from gpudoctor.tasks import query


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    look = query("nvidia-smi", "-q", "-d", "ECC,PAGE_RETIREMENT,ROW_REMAPPER", "-i", on.number)
    return (
        Fix(
            "Watch whether the count grows from day to day, and whether pages or rows are retired; test the memory "
            "in the next maintenance window. Replace the card if it keeps growing.",
            (look, query("dcgmi", "diag", "-r", "3", root=True)),
            "ask-vendor",
            root=True,
            impact="none",
            verify=look,
        ),
    )


@check(
    title="GPU corrects many ECC memory errors",
    severity=Severity.ADVICE,
    cause="ECC corrects single-bit errors, and results stay right. So many that the driver reports it (Xid 92) often "
    "precede errors that it cannot correct.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html",
        "https://docs.nvidia.com/deploy/dynamic-page-retirement/visibility.html",
    ),
    targets=nvidia_addresses,
    only_with=("log.events.kind=xid",),
    caused_by=(
        "device.ecc-uncorrected",
        "device.row-remap-failed",
        "device.row-remap-pending",
        "device.retired-pages-pending",
        "device.sram-errors",
    ),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def ecc_corrected_often(on: OnAddress) -> Problem | None:
    """Xid 92 since the driver was loaded; a count alone means little: each model has its own rate."""
    logged = on.logged_xids(92)
    if not logged:
        return None
    count = on.gpu.ecc_corrected if on.gpu is not None else None
    number = f" {count}" if isinstance(count, int) and count else " very many"
    return Problem(
        f"{on.name} has corrected{number} memory errors since the driver was loaded (Xid 92).", texts(logged)
    )
