"""A GPU that was suspended does not wake up."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.boot import kernel_parameter
from gpudoctor.fixes.laptop import switch_on
from gpudoctor.fixes.module_option import set_option
from gpudoctor.fixes.stay_on import stay_on
from gpudoctor.maybe import known
from gpudoctor.queries.cards import card_name, works
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.targets import OnCard, nvidia_cards
from gpudoctor.tasks import Edit, Task, as_root, query

VFIO = "vfio-pci"
_OF_VFIO = (
    "vfio-pci suspends a GPU that no virtual machine uses. It reached D3cold, lost its power, and no longer responds "
    "on the bus when a virtual machine wants it: device inaccessible."
)


def _fixes(on: OnCard) -> tuple[Fix, ...]:
    if on.card.driver == VFIO:
        return _of_vfio(on)
    now = Fix(
        "Shut down, disconnect the power for half a minute (on a laptop hold the power button for 15 seconds), and "
        "start again: a reboot alone may leave the GPU without power.",
        (as_root("poweroff"),),
        "power-cycle",
        root=True,
        needs="reboot",
        verify=query("nvidia-smi"),
    )
    stay = stay_on(
        on.facts,
        "Update the firmware (BIOS), whose power methods are at fault; until then keep the driver from powering the "
        "GPU off while idle",
    )
    ports = kernel_parameter(on.facts, "If that is not enough: keep the PCIe ports awake.", "pcie_port_pm=off")
    tool = on.facts.nvidia.kernel.switch
    return (now, stay, ports, *(switch_on(on.facts, tool) if isinstance(tool, str) else ()))


def _of_vfio(on: OnCard) -> tuple[Fix, ...]:
    cold = f"/sys/bus/pci/devices/{on.card.address}/d3cold_allowed"
    message = "Shut down and power the machine off and on again: a reboot alone may leave the GPU without power."
    return (
        Fix(message, (as_root("poweroff"),), "power-cycle", root=True, needs="reboot", verify=_state(on)),
        set_option(
            on.facts,
            "Keep vfio-pci from suspending GPUs that no virtual machine uses, which then draw more power",
            "disable_idle_d3=1",
            "vfio-stay-on",
            "vfio-pci",
            query("cat", "/sys/module/vfio_pci/parameters/disable_idle_d3"),
        ),
        Fix(
            "Until the next reboot: forbid only the state without power, once the GPU responds again.",
            (Edit(cold, text="0\n", root=True),),
            root=True,
            undo=(Edit(cold, text="1\n", root=True),),
            verify=_state(on),
        ),
    )


def _state(on: OnCard) -> Task:
    return query("cat", f"/sys/bus/pci/devices/{on.card.address}/power_state")


def _failed(facts: Facts, address: str) -> tuple[str, ...]:
    return texts(tuple(e for e in events(facts, "wake-failed") if e.gpu == address))


@check(
    title="GPU does not wake up from D3cold",
    severity=Severity.ERROR,
    cause="The GPU was powered off to save power (D3cold), and the firmware does not power it on again when the "
    "driver asks: it no longer responds on the bus.",
    fixes=_fixes,
    references=(
        "https://github.com/kata-containers/kata-containers/issues/11708",
        "https://github.com/mroboff/vm-curator/pull/63",
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
    """The kernel reported that it could not wake this card, and the driver has not reached it since.

    vfio-pci suspends a card that no virtual machine uses, and tells nobody whether it woke: its state now decides.
    """
    logged = _failed(on.facts, on.card.address)
    if not logged or works(on.facts, on.card):
        return None
    if on.card.driver == VFIO:
        # After a reset that failed, the card answers nothing, and D3cold is how the kernel reads that.
        unreset = any(event.gpu == on.card.address for event in events(on.facts, "vfio-not-ready"))
        if unreset or known(on.card.power_state) != "D3cold":
            return None
        message = f"{card_name(on.card)}, bound to vfio-pci, is stuck in D3cold: the kernel could not wake it."
        return Problem(f"{message} No virtual machine can use it.", logged, _OF_VFIO)
    return Problem(f"{card_name(on.card)} was suspended (D3cold), and the kernel could not wake it.", logged)
