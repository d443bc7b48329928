"""A GPU with Microsoft's basic driver, or with none."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.maybe import present
from gpudoctor.queries.windows import OnAdapter, windows_adapters
from gpudoctor.tasks import query

_PAGES = {
    "NVIDIA": "https://www.nvidia.com/en-us/drivers/",
    "AMD": "https://www.amd.com/en/support/download/drivers.html",
    "Intel": "https://www.intel.com/content/www/us/en/download-center/home.html",
}
_BASIC = "Microsoft Basic Display Adapter"


def _fixes(on: OnAdapter) -> tuple[Fix, ...]:
    message = f"Install {on.maker}'s driver from {_PAGES[on.maker]}, then reboot."
    proof = query("nvidia-smi" if on.maker == "NVIDIA" else "devmgmt.msc")
    return (Fix(message, (), "reinstall-package", root=True, needs="reboot", verify=proof),)


@check(
    title="The GPU vendor's driver is not installed",
    severity=Severity.WARNING,
    cause="With Microsoft's basic display driver a GPU can show the desktop, but not compute.",
    fixes=_fixes,
    references=(
        "https://support.microsoft.com/en-us/topic/error-codes-in-device-manager-in-windows-"
        "524e9e89-4dee-8883-0afa-6bca0456324e",
    ),
    targets=windows_adapters,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def driver_missing(on: OnAdapter) -> Problem | None:
    """Its name is that of the basic driver, or the error code means that none is installed."""
    if on.adapter.problem != 28 and on.adapter.name != _BASIC:
        return None
    which = f"{present(on.adapter.vendor)}:{present(on.adapter.device)}"
    return Problem(f"A GPU from {on.maker} ({which}) runs without {on.maker}'s driver.")
