"""A GPU of AMD's has more bad pages of memory than it may have, or some that could not be taken out of use."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.amd_boards import OnBoard, boards, since_loaded
from gpudoctor.queries.kernel_log import texts
from gpudoctor.tasks import as_root, filtered, query


def _fixes(on: OnBoard) -> tuple[Fix, ...]:
    pages = f"/sys/bus/pci/devices/{on.address}/ras/gpu_vram_bad_pages"
    replace = Fix(
        "Have the card replaced (RMA); give the vendor its serial number, the list of bad pages and the log.",
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
        "End the programs on this GPU and restart the computer: amdgpu takes the pages out of use when it starts.",
        (as_root("reboot"),),
        "reboot",
        root=True,
        needs="reboot",
        verify=query("cat", pages),
    )
    return restart, replace


@check(
    title="A GPU has bad pages of memory",
    severity=Severity.ERROR,
    cause="amdgpu notes pages with uncorrectable errors on the card and takes them out of use. A page that a program "
    "held has to wait for that; a card with more bad pages than its threshold is worn out, and later starts leave it "
    "without a driver.",
    fixes=_fixes,
    references=("https://docs.kernel.org/gpu/amdgpu/ras.html",),
    targets=boards,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def bad_pages(on: OnBoard) -> Problem | None:
    """Beyond the threshold by the log, or pages that wait: a WARNING. Retired ones alone are what retiring is for."""
    told = since_loaded(on, "amdgpu-bad-pages")
    retired = known_or(on.board.pages_retired, None) if on.board else None
    also = f"; {retired} are out of use" if retired else ""
    if told:
        return Problem(f"{on.name} has more bad pages of memory than AMD permits{also}.", texts(told))
    pending = known(on.board.pages_pending) if on.board else None
    if not pending:
        return None
    pages = "1 bad page of memory that is" if pending == 1 else f"{pending} bad pages of memory that are"
    return Problem(f"{on.name} has {pages} still in use{also}.", severity=Severity.WARNING)
