"""A graphics adapter that the Device Manager shows with an error."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.knowledge import windows
from gpudoctor.maybe import present
from gpudoctor.queries.windows import OnAdapter, windows_adapters
from gpudoctor.tasks import query, sentence

_DRIVERS = {
    "NVIDIA": "https://www.nvidia.com/en-us/drivers/",
    "AMD": "https://www.amd.com/en/support/download/drivers.html",
    "Intel": "https://www.intel.com/content/www/us/en/download-center/home.html",
}


def _fixes(on: OnAdapter) -> tuple[Fix, ...]:
    kind = (windows.meaning(on.adapter.problem or 0) or ("", ""))[1]
    look = (query("devmgmt.msc"),)
    if kind == "enable":
        message = f"Enable {on.adapter.name} in the Device Manager, under Display adapters."
        return (Fix(message, look, root=True, undo=sentence("Disable it there again.")),)
    if kind == "restart":
        return (Fix("Restart Windows (Restart, as Shut down keeps drivers in memory).", (), "reboot", needs="reboot"),)
    if kind == "bios":
        message = "In the firmware's set-up (BIOS), switch on 'Above 4G Decoding', and update the firmware."
        return (Fix(message, (), "reboot", needs="reboot", impact="persistent"),)
    message = (
        f"Install {on.maker}'s current driver anew, as a clean installation, from {_DRIVERS[on.maker]}; where the code "
        "stays, try the GPU's seating and power cables, then another computer: code 43 is often a broken card."
    )
    return (Fix(message, look, "reinstall-package", root=True, needs="reboot"),)


@check(
    title="Windows has stopped the GPU",
    severity=Severity.ERROR,
    cause="The Device Manager gives an adapter that does not run a code; programs do not see the GPU then.",
    fixes=_fixes,
    references=(
        "https://support.microsoft.com/en-us/topic/error-codes-in-device-manager-in-windows-"
        "524e9e89-4dee-8883-0afa-6bca0456324e",
    ),
    targets=windows_adapters,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def adapter_stopped(on: OnAdapter) -> Problem | None:
    """It has a code; graphics in the processor that somebody disabled is no problem, nor is a missing driver here."""
    code = on.adapter.problem
    found = windows.meaning(code) if code else None
    if found is None or code == 28 or (code == 22 and on.maker == "Intel"):
        return None
    severity = None if on.maker == "NVIDIA" and code != 22 else Severity.WARNING
    return Problem(f"{on.adapter.name} has the code {present(code)}: {found[0]}.", severity=severity)
