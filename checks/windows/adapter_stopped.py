"""A display adapter with an error code in Device Manager."""

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
        message = f"Enable {on.adapter.name} in Device Manager, under Display adapters."
        return (Fix(message, look, root=True, undo=sentence("Disable it there again.")),)
    if kind == "restart":
        return (
            Fix("Restart Windows (choose Restart; Shut down keeps drivers in memory).", (), "reboot", needs="reboot"),
        )
    if kind == "bios":
        message = "Enable 'Above 4G Decoding' in the BIOS/UEFI setup, and update the firmware."
        return (Fix(message, (), "reboot", needs="reboot", impact="persistent"),)
    message = (
        f"Do a clean installation of {on.maker}'s current driver from {_DRIVERS[on.maker]}; if the code persists, "
        "reseat the GPU and its power cables, then try another computer: code 43 is often a broken card."
    )
    return (Fix(message, look, "reinstall-package", root=True, needs="reboot"),)


@check(
    title="Windows stopped the GPU (Device Manager error code)",
    severity=Severity.ERROR,
    cause="Device Manager shows an error code for an adapter that does not work; programs then do not see the GPU.",
    fixes=_fixes,
    references=(
        "https://support.microsoft.com/en-us/topic/error-codes-in-device-manager-in-windows-"
        "524e9e89-4dee-8883-0afa-6bca0456324e",
    ),
    targets=windows_adapters,
    affects=("everything",),
    validated_on=("facts 2026-11",),
)
def adapter_stopped(on: OnAdapter) -> Problem | None:
    """It has an error code; a disabled integrated GPU is not a problem, and a missing driver is another check's."""
    code = on.adapter.problem
    found = windows.meaning(code) if code else None
    if found is None or code == 28 or (code == 22 and on.maker == "Intel"):
        return None
    severity = None if on.maker == "NVIDIA" and code != 22 else Severity.WARNING
    return Problem(f"{on.adapter.name} has error code {present(code)}: {found[0]}.", severity=severity)
