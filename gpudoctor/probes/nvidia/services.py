"""The daemons beside NVIDIA's driver, the vGPU license, and the switches that turn a laptop's GPU off."""

import re

import msgspec

from gpudoctor.facts import Host, PciDevice
from gpudoctor.knowledge.pci_ids import is_nvswitch, needs_fabric
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or

_UNITS = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")
_SLICES = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")  # cgroup version 2, 1
_DOC = "/usr/share/doc"
# ACPI's id of NVIDIA's platform controller, without which a laptop has no Dynamic Boost (omacom/omarchy#10592).
_BATTERY, _CONTROLLER = "PNP0C0A", "NVDA0820"
_STATES = {"active", "reloading", "inactive", "failed", "activating", "deactivating", "maintenance"}
_GRIDD_CONF = "/etc/nvidia/gridd.conf"
# "GRID T4-8C", "NVIDIA A40-8Q": the profile's framebuffer and its series (docs.nvidia.com/vgpu, "Virtual GPU Types").
_VGPU_NAME = pattern(r"GRID .*|(?:NVIDIA )?.*-\d+(?:-\d+)?(?:[ABCQ]|ME)\w*")
_SMI_SECONDS = 10.0
_NVLSM = ("/opt/nvidia/nvlsm/sbin", "/usr/sbin", "/usr/bin")
HOSTS = Unknown("the host's: not visible from the container")
_NO_SWITCH = Unknown("not asked: no NVSwitch and no SXM board")


class Services(msgspec.Struct, frozen=True):
    """What `NvidiaKernel` says of them, under the same names."""

    fabric_manager: Maybe[str | None]
    fabric_manager_version: Maybe[str | None]
    subnet_manager: Maybe[str | None]
    imex: Maybe[str | None]
    persistence_daemon: Maybe[str | None]
    power_daemon: Maybe[str | None]
    power_daemon_files: tuple[str, ...]
    dynamic_boost: Maybe[bool | None]
    gridd: Maybe[str | None]
    license: Maybe[str | None]
    bbswitch: Maybe[str | None]
    prime: Maybe[str | None]


def probe(machine: Machine, host: Host, cards: tuple[PciDevice, ...]) -> Services:
    """Ask about those that this machine's cards need; a container sees none of the host's daemons."""
    inside = known_or(host.container, None) is not None
    fabric = any(c.role == "switch" or is_nvswitch(c.device) or needs_fabric(c.device) for c in cards)
    virtual = is_vgpu(machine, host)
    boost = _dynamic_boost(machine)
    powerd, shipped = (HOSTS, ()) if inside else _power_daemon(machine, boost)
    return Services(
        fabric_manager=HOSTS if inside else _fabric(machine) if fabric else _NO_SWITCH,
        fabric_manager_version=HOSTS if inside else _fabric_version(machine) if fabric else _NO_SWITCH,
        subnet_manager=HOSTS if inside else _subnet_manager(machine, cards),
        imex=HOSTS if inside else _imex(machine),
        persistence_daemon=HOSTS if inside else _persistence(machine),
        power_daemon=powerd,
        power_daemon_files=shipped,
        dynamic_boost=boost,
        gridd=HOSTS if inside else _unit(machine, "nvidia-gridd", "nvidia-gridd") if virtual else None,
        license=_license(machine) if virtual else None,
        bbswitch=_bbswitch(machine),
        prime=HOSTS if inside else _prime(machine, host),
    )


def is_vgpu(machine: Machine, host: Host) -> bool:
    """Say whether this is a virtual machine with a virtual GPU (NVIDIA vGPU), which needs a license."""
    if known_or(host.virtual, None) is None or known_or(host.wsl, None) is not None:
        return False
    return machine.exists(_GRIDD_CONF) or any(map(_VGPU_NAME.fullmatch, _models(machine)))


def _models(machine: Machine) -> list[str]:
    return _of_gpus(machine, "information", "Model")


def _of_gpus(machine: Machine, file: str, field: str) -> list[str]:
    """What the driver's files of all GPUs have in a field."""
    folder = "/proc/driver/nvidia/gpus"
    texts = (machine.line(f"{folder}/{gpu}/{file}") or "" for gpu in machine.names(folder))
    return [m[1].strip() for text in texts if (m := re.search(rf"^{field}:(.*)", text, re.MULTILINE))]


def _unit(machine: Machine, unit: str, program: str) -> Maybe[str | None]:
    """Return systemd's word for a service; None where neither its unit nor its program is installed."""
    ended = machine.run(["systemctl", "is-active", unit])
    state = ended.out.strip()
    if (state == "inactive" or "could not be found" in ended.err) and not _installed(machine, unit, program):
        return None
    if state in _STATES:
        return state
    if ended.missing and not _installed(machine, unit, program):
        return None
    return Unknown(f"systemctl is-active {unit}: {ended.err.strip() or ended.missing or state or 'no response'}")


def _installed(machine: Machine, unit: str, program: str) -> bool:
    here = machine.which(program, ("/usr/bin", "/usr/sbin")) is not None
    return here or any(machine.exists(f"{folder}/{unit}.service") for folder in _UNITS)


def _fabric(machine: Machine) -> Maybe[str | None]:
    state = _unit(machine, "nvidia-fabricmanager", "nv-fabricmanager")
    return "masked" if state == "inactive" and _masked(machine, "nvidia-fabricmanager") else state


def _masked(machine: Machine, unit: str) -> bool:
    """Whether the administrator's file of the unit is empty, a link to /dev/null mostly (systemctl mask)."""
    try:
        return not machine.text(f"/etc/systemd/system/{unit}.service")
    except OSError:
        return False


def _fabric_version(machine: Machine) -> Maybe[str | None]:
    program = machine.which("nv-fabricmanager", ("/usr/bin",))
    if program is None:
        return None
    ended = machine.run([program, "--version"])
    found = re.search(r"\d{3}\.\d+(?:\.\d+)*", ended.out + ended.err)
    return found[0] if found else Unknown(f"nv-fabricmanager --version: {ended.err.strip() or 'names no version'}")


def _subnet_manager(machine: Machine, cards: tuple[PciDevice, ...]) -> Maybe[str | None]:
    if not any(needs_fabric(c.device) and c.generation == "Blackwell" for c in cards):
        return _NO_SWITCH
    return machine.which("nvlsm", _NVLSM)


def _imex(machine: Machine) -> Maybe[str | None]:
    """Nothing is run where the service is not installed."""
    if not _installed(machine, "nvidia-imex", "nvidia-imex"):
        return None
    return _unit(machine, "nvidia-imex", "nvidia-imex")


def _persistence(machine: Machine) -> str | None:
    """The daemon holds a socket as long as it runs (docs.nvidia.com/deploy/driver-persistence)."""
    if machine.exists("/run/nvidia-persistenced/socket"):
        return "active"
    return "inactive" if _installed(machine, "nvidia-persistenced", "nvidia-persistenced") else None


def _dynamic_boost(machine: Machine) -> bool | None:
    """What the driver reports; older ones have no such line.

    The file shows sleeping GPUs as such and wakes none: "Dynamic Power Management" in the driver's README.
    """
    found = _of_gpus(machine, "power", "Notebook Dynamic Boost")
    return "Supported" in found if found else None


def _power_daemon(machine: Machine, boost: bool | None) -> tuple[Maybe[str | None], tuple[str, ...]]:
    """nvidia-powerd as systemd's cgroups show it, without a child: a service that runs has one.

    Packages of Ubuntu 24.04 and Debian, and the .run installer, ship its unit as an example only
    (canonical/nvidia-graphics-drivers#91, johnfanv2/LenovoLegionLinux#481).
    """
    slices = [folder for folder in _SLICES if machine.exists(folder)]
    if any(machine.exists(f"{folder}/nvidia-powerd.service") for folder in slices):
        return "active", ()
    acpi = {name.partition(":")[0] for name in machine.names("/sys/bus/acpi/devices")}
    if boost is False or (_BATTERY in acpi and _CONTROLLER not in acpi):
        return "unsupported", ()
    if any(machine.exists(f"{folder}/nvidia-powerd.service") for folder in _UNITS):
        return "inactive" if slices else Unknown("the cgroups of systemd's services cannot be seen"), ()
    if not any(machine.exists(f"{folder}/nvidia-powerd") for folder in ("/usr/bin", "/usr/sbin")):
        return None, ()
    if machine.which("systemctl", ("/usr/bin",)) is None:
        return Unknown("there is no systemd"), ()
    names = [name for name in machine.names(_DOC) if name.startswith(("nvidia-", "NVIDIA_GLX"))]
    folders = [f"{_DOC}/{name}{part}" for name in names for part in ("", "/examples", "/samples")]
    found = (f"{folder}/{name}" for name in ("nvidia-powerd.service", "nvidia-dbus.conf") for folder in folders)
    return "no-unit", tuple(filter(machine.exists, found))


def _license(machine: Machine) -> Maybe[str | None]:
    """nvidia-smi -q takes seconds, but nothing else tells whether a virtual GPU is throttled for want of a license."""
    ended = machine.run(["nvidia-smi", "-q"], seconds=_SMI_SECONDS)
    found = re.findall(r"License Status\s*:\s*(.*\S)", ended.out)
    states = [str(state) for state in found if state != "N/A"]
    if states:
        return next((state for state in states if not state.startswith("Licensed")), states[0])
    if ended.ok:
        return None
    why = ended.missing or ended.err.strip() or ended.out.strip() or "it timed out"
    return Unknown(f"nvidia-smi -q: {why.splitlines()[0]}")


def _bbswitch(machine: Machine) -> Maybe[str | None]:
    path = "/proc/acpi/bbswitch"
    if not machine.exists(path):
        return None
    words = (machine.line(path) or "").split()
    return words[-1] if words else Unknown(f"{path} is empty or cannot be read")


def _prime(machine: Machine, host: Host) -> Maybe[str | None]:
    if known_or(host.platform, "laptop") not in ("laptop", "vm"):
        return None
    program = machine.which("prime-select", ("/usr/bin",))
    if program is None:
        return None
    ended = machine.run([program, "query"])
    choice = ended.out.strip()
    if ended.ok and choice and "\n" not in choice:
        return choice
    return Unknown(f"prime-select query: {ended.err.strip() or ended.missing or choice or 'no response'}")
