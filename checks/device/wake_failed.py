"""A GPU that was suspended does not wake up."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.fixes.laptop import switch_on
from gpudoctor.fixes.module_option import option_file
from gpudoctor.queries.cards import card_name, works
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import OnCard, nvidia_cards
from gpudoctor.tasks import as_root, query


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    now = Fix(
        "Shut down, disconnect the power for half a minute (on a laptop hold the power button for 15 seconds), and "
        "start again: a reboot alone may leave the GPU without power.",
        (as_root("poweroff"),),
        "power-cycle",
        root=True,
        needs="reboot",
        verify=query("nvidia-smi"),
    )
    write, remove = option_file("nvidia-stay-on", "NVreg_DynamicPowerManagement=0x00")
    stay = Fix(
        "Keep the driver from powering the GPU off while idle, then reboot; update the firmware (BIOS), whose power "
        "methods are at fault.",
        (
            write,
            as_root("reboot"),
        ),
        "reboot",
        root=True,
        needs="reboot",
        impact="persistent",
        undo=(remove,),
        verify=query("nvidia-smi"),
    )
    ports = kernel_parameter(on.facts, "If that is not enough: keep the PCIe ports awake.", "pcie_port_pm=off")
    tool = on.facts.nvidia.kernel.switch
    return (now, stay, ports, *(switch_on(tool) if isinstance(tool, str) else ()))


def _failed(facts: Facts, address: str) -> tuple[str, ...]:
    return texts(tuple(e for e in events(facts, "wake-failed") if e.gpu == address))


@check(
    title="GPU does not wake up from D3cold",
    severity=Severity.ERROR,
    cause="The GPU was powered off to save power (D3cold), and the firmware does not power it on again when the "
    "driver asks: it no longer responds on the bus.",
    fixes=_fixes,
    references=(
        "https://github.com/system76/firmware-open/issues/259",
        "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1071",
        "https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/dynamicpowermanagement.html",
    ),
    targets=nvidia_cards,
    caused_by=("device.switched-off",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def wake_failed(on: OnCard) -> Problem | None:
    """The kernel reported that it could not wake this card, and the driver has not reached it since."""
    logged = _failed(on.facts, on.card.address)
    if not logged or works(on.facts, on.card) or on.card.driver == "vfio-pci":
        return None
    return Problem(f"{card_name(on.card)} was suspended (D3cold), and the kernel could not wake it.", logged)
