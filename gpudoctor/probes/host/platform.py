"""Which class of machine this is: it decides what cannot exist here and is therefore not asked for."""

import re

from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.proc_fields import field

DMI = "/sys/class/dmi/id"
# What board makers leave in a field that they did not fill in.
_FILLER = (
    *("to be filled", "default string", "system manufacturer", "system product"),
    *("not specified", "not applicable"),
)
_OEM = ("oem", "o.e.m", "o.em", "oe.m")
# SMBIOS 3.7, 7.4.1: portable, laptop, notebook, sub notebook, tablet, convertible, detachable.
_PORTABLE = {"8", "9", "10", "14", "30", "31", "32"}
# JEP106 bank and code of NVIDIA and the number of T241 (Grace), as Arm's SMCCC_ARCH_SOC_ID gives them.
_GRACE_SOC = "jep106:036b:0241"
_GRACE = pattern(r"\b(?:GH200|GB200|GB300|Grace)\b")
# Cortex-X925 and Cortex-A725 (Arm, MIDR_EL1 part numbers): the two cores of GB10, and together of nothing else that
# runs a general Linux.
_GB10_PARTS = {"0xd85", "0xd87"}
_SPARK = pattern(r"DGX[ _-]Spark|\bGB10\b", re.I)
_JETSON = pattern(r"jetson|nvidia,tegra|tegra", re.I)

# Words of the DMI fields: a hypervisor that cannot be anything else, whatever the processor's flags say
# (passthrough guests hide the flag from NVIDIA's driver).
_HYPERVISORS = (
    ("vmware", "vmware"),
    ("virtualbox", "oracle"),
    ("innotek", "oracle"),
    ("parallels", "parallels"),
    ("qemu", "kvm"),
    ("kubevirt", "kvm"),
    ("kvm", "kvm"),
    ("openstack", "kvm"),
    ("bochs", "bochs"),
    ("hvm domu", "xen"),
    ("virtual machine", "microsoft"),
    ("bhyve", "bhyve"),
    ("apple virtualization", "apple"),
)
# Clouds that rent bare machines under the same name: the processor's flag decides.
_CLOUDS = (
    ("amazon ec2", "amazon"),
    ("google", "google"),
    ("digitalocean", "kvm"),
    ("alibaba", "kvm"),
    ("tencent", "kvm"),
    ("hetzner", "kvm"),
    ("nutanix", "nutanix"),
    ("rhev", "kvm"),
    ("xen", "xen"),
)


def platform(machine: Machine, *, container: str | None, wsl: int | None) -> str:
    """Return bare, laptop, vm, container, wsl, jetson, dgx-spark or grace.

    What decides which facts exist comes first: WSL has no kernel module of the GPU, a Jetson and a DGX Spark no
    memory of the GPU's own, a Grace machine no PCIe link, in a container as well; `Host.container`, `wsl` and
    `virtual` say the rest.
    """
    if wsl is not None:
        return "wsl"
    board = _board(machine)
    if board is not None:
        return board
    if container is not None:
        return "container"
    under = hypervisor(machine)
    if isinstance(under, str) and not (under == "other" and _dmi(machine, "chassis_type") in _PORTABLE):
        return "vm"
    return "laptop" if _portable(machine) else "bare"


def product(machine: Machine) -> Maybe[str | None]:
    """Return vendor and product as the firmware names them; None where there is no such table."""
    words = [_dmi(machine, "sys_vendor"), _dmi(machine, "product_name")]
    name = " ".join(word for word in words if word)
    if name:
        return name
    model = _tree(machine, "model")
    if model:
        return model
    return None if machine.names("/sys/class") else Unknown("/sys is not mounted")


def hypervisor(machine: Machine) -> Maybe[str | None]:
    """Return the hypervisor under this system: kvm, vmware, microsoft, xen, amazon ...; None on bare metal.

    A host that runs guests itself (Xen's dom0) is bare.
    """
    if "control_d" in (machine.line("/proc/xen/capabilities") or ""):
        return None
    words = " ".join(_dmi(machine, field) for field in ("sys_vendor", "product_name", "board_vendor", "bios_vendor"))
    sure = _named(_HYPERVISORS, words)
    if sure:
        return sure
    said = machine.line("/sys/hypervisor/type")
    if said:
        return said
    flagged = _flagged(machine)
    if flagged is None:
        return _arm(machine, words)
    return (_named(_CLOUDS, words) or "other") if flagged else None


def _named(table: tuple[tuple[str, str], ...], words: str) -> str | None:
    text = words.lower()
    return next((name for word, name in table if word in text), None)


def _flagged(machine: Machine) -> bool | None:
    """The processor's hypervisor flag; None where processors have none (Arm)."""
    text = _cpuinfo(machine)
    flags = field(text, "flags")
    return None if flags is None else "hypervisor" in flags.split()


def _arm(machine: Machine, words: str) -> Maybe[str | None]:
    """Arm has no such flag: the device tree or a cloud's name must say it; a .metal instance is bare."""
    if "linux,dummy-virt" in _tree(machine, "compatible"):
        return "kvm"
    cloud = _named(_CLOUDS, words)
    if cloud and not re.search(r"[.-]metal\b", words):
        return cloud
    return None if _cpuinfo(machine) else Unknown("/proc/cpuinfo cannot be read")


def _board(machine: Machine) -> str | None:
    """The machines of NVIDIA's own design whose GPU hangs on something else than PCIe."""
    if machine.architecture() != "aarch64":
        # A 32-bit personality (linux32) hides the processor's architecture, not the board.
        return "jetson" if "nvidia,tegra" in _tree(machine, "compatible") else None
    words = " ".join(_dmi(machine, field) for field in ("product_name", "board_name", "product_family"))
    if _SPARK.search(words) or _SPARK.search(machine.line("/etc/dgx-release") or ""):
        return "dgx-spark"
    if _jetson(machine):
        return "jetson"
    soc = machine.line("/sys/devices/soc0/soc_id") or ""
    if soc.lower().startswith(_GRACE_SOC) or _GRACE.search(words):
        return "grace"
    parts = set(re.findall(r"^CPU part\s*: (0x\w+)", _cpuinfo(machine), re.M))
    return "dgx-spark" if parts == _GB10_PARTS else None


def _jetson(machine: Machine) -> bool:
    if machine.exists("/etc/nv_tegra_release"):
        return True
    said = (_tree(machine, "model"), _tree(machine, "compatible"), machine.line("/sys/devices/soc0/family") or "")
    return any(_JETSON.search(text) for text in said)


def _portable(machine: Machine) -> bool:
    """By the chassis; where the firmware names none, by a battery."""
    kind = _dmi(machine, "chassis_type")
    if kind in _PORTABLE:
        return True
    return kind in ("", "1", "2") and any(name.startswith("BAT") for name in machine.names("/sys/class/power_supply"))


def _dmi(machine: Machine, field: str) -> str:
    text = machine.line(f"{DMI}/{field}") or ""
    small = text.lower()
    return "" if small.startswith(_OEM) or any(filler in small for filler in _FILLER) else text


def _tree(machine: Machine, name: str) -> str:
    """A property of the device tree; its strings end in null bytes."""
    return (machine.line(f"/proc/device-tree/{name}") or "").replace("\0", " ").strip()


def _cpuinfo(machine: Machine) -> str:
    try:
        return machine.text("/proc/cpuinfo")
    except OSError:
        return ""
