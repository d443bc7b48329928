"""A GPU waits for a reset to retire broken memory pages."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.reset import reset_commands
from gpudoctor.queries.cards import OnAddress, nvidia_addresses
from gpudoctor.queries.kernel_log import texts
from gpudoctor.tasks import query


def _fixes(on: OnAddress) -> tuple[Fix, ...]:
    message = "Drain the GPU (no program may use it), then reset it, or reboot; the pages are retired then."
    verify = query("nvidia-smi", "-q", "-d", "PAGE_RETIREMENT", "-i", on.number)
    return (Fix(message, reset_commands(on), "reset-gpu", root=True, verify=verify),)


@check(
    title="Page retirement pending: the GPU needs a reset",
    severity=Severity.WARNING,
    cause="GPUs from Kepler to Turing retire broken memory pages at the next reset after the error (page retirement).",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/dynamic-page-retirement/index.html",),
    targets=nvidia_addresses,
    only_with=("gpus.retired_pending",),
    caused_by=("device.row-remap-failed", "device.fallen-off-the-bus"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def retired_pages_pending(on: OnAddress) -> Problem | None:
    """NVML's flag; GPUs without page retirement have none."""
    if on.gpu is None or on.gpu.retired_pending is not True:
        return None
    return Problem(f"{on.name} has page retirements pending: it needs a reset.", texts(on.xids(48, 63)))
