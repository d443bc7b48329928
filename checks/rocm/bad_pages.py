"""An AMD GPU has more bad memory pages than its threshold, or some that could not be retired."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.amd_boards import OnBoard, boards, since_loaded
from gpudoctor.queries.kernel_log import texts
from gpudoctor.tasks import as_root, filtered, query


def _fixes(on: OnBoard) -> tuple[Fix, ...]:
    pages = f"/sys/bus/pci/devices/{on.address}/ras/gpu_vram_bad_pages"
    replace = Fix(
        "Have the card replaced (RMA); give the vendor its serial number, the bad page list and the log.",
        (
            query("cat", f"/sys/bus/pci/devices/{on.address}/serial_number", pages),
            filtered(query("dmesg", root=True), query("grep", "-iE", "amdgpu.*(bad|RAS)")),
        ),
        "ask-vendor",
        root=True,
        impact="none",
    )
    if since_loaded(on, "amdgpu-bad-pages"):
        return (replace,)
    restart = Fix(
        "Stop all programs on this GPU and reboot: amdgpu retires the pages when it loads.",
        (as_root("reboot"),),
        "reboot",
        root=True,
        needs="reboot",
        verify=query("cat", pages),
    )
    return restart, replace


@check(
    title="AMD GPU has bad memory pages",
    severity=Severity.ERROR,
    cause="amdgpu records pages with uncorrectable errors on the card and retires them. A page that a program is "
    "using stays pending; a card with more bad pages than its threshold is worn out, and after a reboot amdgpu may no "
    "longer bind to it.",
    fixes=_fixes,
    references=("https://docs.kernel.org/gpu/amdgpu/ras.html",),
    targets=boards,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def bad_pages(on: OnBoard) -> Problem | None:
    """Over the threshold according to the log, or pages pending: a WARNING. Retired ones alone are normal."""
    logged = since_loaded(on, "amdgpu-bad-pages")
    retired = known_or(on.board.pages_retired, None) if on.board else None
    also = f"; {retired} are retired" if retired else ""
    if logged:
        return Problem(f"{on.name} has more bad memory pages than AMD's threshold allows{also}.", texts(logged))
    pending = known(on.board.pages_pending) if on.board else None
    if not pending:
        return None
    pages = "1 bad memory page that is" if pending == 1 else f"{pending} bad memory pages that are"
    return Problem(f"{on.name} has {pages} still in use{also}.", severity=Severity.WARNING)
