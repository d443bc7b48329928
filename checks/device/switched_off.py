"""A laptop's GPU is powered off, on purpose, so the driver cannot reach it."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import laptop
from gpudoctor.maybe import known
from gpudoctor.queries.driver import own_kernel
from gpudoctor.queries.kernel_log import events, texts
from gpudoctor.queries.wanted import chosen
from gpudoctor.targets import cards_of, gpus_of
from gpudoctor.tasks import Edit, Task, Tasks, as_root, cmd, query

# NVML's codes for a GPU that does not wake: lost, not found, unknown error.
_ASLEEP = (15, 28, 999)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    if _by_bbswitch(facts):
        run = Fix(
            "Start programs through Bumblebee, which powers the GPU on for them.", (cmd("optirun", "nvidia-smi"),)
        )
        on = Fix(
            "Power the GPU on by hand and load the module; to leave it on permanently, disable bumblebeed.",
            (Edit("/proc/acpi/bbswitch", text="ON\n", root=True), as_root("modprobe", "nvidia")),
            "reload-module",
            root=True,
            undo=(Edit("/proc/acpi/bbswitch", text="OFF\n", root=True),),
            verify=query("nvidia-smi"),
        )
        return (run, on)
    switch = facts.nvidia.kernel.switch
    if isinstance(switch, str):
        return laptop.switch_on(facts, switch, facts.nvidia.kernel.switch_files, facts.nvidia.kernel.switch_lost)
    if facts.nvidia.kernel.prime == "intel":
        message = "Enable the NVIDIA GPU again with prime-select, then reboot."
        return (_reboot(message, as_root("prime-select", "on-demand"), (as_root("prime-select", "intel"),)),)
    message = (
        "Keep the GPU powered on, then reboot; a laptop's own tool (system76-power, supergfxctl, envycontrol) can "
        "do this."
    )
    return (_reboot(message, as_root("sh", "-c", "echo on | tee /sys/bus/pci/devices/*/power/control"), ()),)


def _reboot(message: str, command: Task, undo: Tasks) -> Fix:
    return Fix(
        message,
        (command, as_root("reboot")),
        "reboot",
        root=True,
        needs="reboot",
        undo=undo,
        verify=query("nvidia-smi"),
    )


def _by_bbswitch(facts: Facts) -> bool:
    switch = facts.nvidia.kernel.bbswitch
    if isinstance(switch, str):
        return switch == "OFF"
    return switch is not None and bool(events(facts, "bbswitch-off"))


def _by_tool(facts: Facts) -> Problem | None:
    """A laptop's tool, or a udev rule, keeps the GPU off the bus."""
    kernel = facts.nvidia.kernel
    if not isinstance(kernel.switch, str):
        return None
    if kernel.switch == "asus-firmware":
        message = "The laptop's firmware has switched the NVIDIA GPU off (dgpu_disable is 1), so it is not on the bus."
        return chosen(facts, message, tuple(f"{name}: 1" for name in kernel.switch_files))
    who = "A udev rule" if kernel.switch == "udev" else f"{kernel.switch} (integrated mode)"
    files = " and ".join(kernel.switch_files) or "its configuration"
    message = f"{who} has switched the NVIDIA GPU off, by {files}: it is off the PCI bus, or its driver blacklisted."
    return chosen(facts, message, kernel.switch_files)


def _tried(facts: Facts) -> bool:
    """Whether NVML failed to wake the GPUs: one that is missing, not allowed or of another version does not try."""
    nvml = facts.nvidia.nvml
    return nvml.code in _ASLEEP or nvml.hung is not None


@check(
    title="GPU is powered off",
    severity=Severity.ERROR,
    cause="On laptops with two GPUs the NVIDIA one is switched off to save power: by bbswitch (Bumblebee), "
    "prime-select or a power manager. The driver wakes a GPU that only sleeps (runtime suspended); this one it "
    "cannot.",
    fixes=_fixes,
    references=(
        "https://github.com/Bumblebee-Project/bbswitch",
        "https://documentation.ubuntu.com/server/how-to/graphics/install-nvidia-drivers/",
        "https://github.com/utajum/g-helper-linux/issues/85",
    ),
    targets=own_kernel,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def switched_off(facts: Facts) -> Problem | None:
    """The switch is off; or the card stays in D3cold though the loaded driver needs it."""
    logged = texts(events(facts, "bbswitch-off"))
    if _by_bbswitch(facts):
        message = "bbswitch (Bumblebee) has powered the NVIDIA GPU off, so the driver cannot reach it."
        return chosen(facts, message, logged)
    cards = cards_of(facts, "nvidia")
    if not cards and not gpus_of(facts, "nvidia") and facts.nvidia.kernel.prime == "intel":
        message = "prime-select is set to the Intel GPU and has powered the NVIDIA one off: it is not on the bus."
        return chosen(facts, message)
    by = _by_tool(facts) if not cards and not gpus_of(facts, "nvidia") else None
    if by:
        return by
    listed = {g.address for g in gpus_of(facts, "nvidia") if g.status == "ok"}
    cold = [c for c in cards if c.power_state == "D3cold" and c.address not in listed]
    if not cold or known(facts.nvidia.kernel.loaded) is None or not _tried(facts):
        return None
    return Problem(f"The GPU at {cold[0].address} stays in D3cold (no power) although the driver is loaded.")
