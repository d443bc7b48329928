"""The kernel's half of NVIDIA's driver: what is loaded, what lies on disk, and what keeps it from working."""

import msgspec

from gpudoctor.facts import Host, NvidiaKernel, PciDevice
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.parsers.numbers import whole
from gpudoctor.parsers.nvidia_version import loaded_driver
from gpudoctor.probes.nvidia import modprobe_conf

_PROC = "/proc/driver/nvidia"
_HMM = "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm"
_TRACES = (
    *("/proc/acpi/bbswitch", "/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/usr/bin/nvidia-smi"),
    *("/dev/nvmap", "/usr/bin/nvidia-uninstall", "/etc/nvidia/gridd.conf", "/usr/lib/wsl"),
)
_UNCONCERNED = Unknown("not looked for: there is no NVIDIA GPU on PCI and no trace of its driver")


def first(machine: Machine, host: Host, cards: tuple[PciDevice, ...]) -> NvidiaKernel:
    """What the kernel and its nodes say, in milliseconds.

    This has to be seen before NVML and libcuda are asked: they may run nvidia-modprobe, which loads the module
    and makes the missing nodes.

    Args:
        machine: the machine.
        host: what it is; a container and WSL have no kernel module of their own.
        cards: the NVIDIA devices on the PCI bus, of the roles gpu and switch.
    """
    modules = loaded_modules(machine)
    loaded, flavor = _loaded(machine, modules, host)
    now = NvidiaKernel(loaded=loaded, flavor=flavor, modules=modules)
    if not cards and not isinstance(loaded, str) and not any(map(machine.exists, _TRACES)):
        return _unconcerned(now)
    from gpudoctor.probes.nvidia import nodes

    seen = nodes.probe(machine, cards)
    units, restricting = ((), ()) if all(node.error != "EPERM" for node in seen) else _units(machine)
    return msgspec.structs.replace(
        now,
        parameters=_parameters(machine),
        gpus=_gpus(machine, loaded),
        nodes=seen,
        units=units,
        restricting_units=restricting,
        uvm_major=_uvm_major(machine),
        sva_missing=_sva_missing(machine, cards) if machine.architecture() == "aarch64" else None,
    )


def _units(machine: Machine) -> tuple[tuple[str, ...], tuple[str, ...]]:
    from gpudoctor.probes.device_policy import units  # only where a node is denied

    return units(machine)


def probe(
    machine: Machine, host: Host, cards: tuple[PciDevice, ...], before: NvidiaKernel | None = None
) -> NvidiaKernel:
    """Look at the kernel's half of the driver; `before` is what `first` saw, if that was asked before."""
    now = before or first(machine, host, cards)
    if now.on_disk is _UNCONCERNED:
        return now
    from gpudoctor.probes.nvidia import installed_driver  # not imported where there is no NVIDIA GPU

    return installed_driver.added(machine, host, cards, now)


def _unconcerned(now: NvidiaKernel) -> NvidiaKernel:
    return msgspec.structs.replace(
        now,
        on_disk=_UNCONCERNED,
        other_kernels=_UNCONCERNED,
        dkms=_UNCONCERNED,
        installer=_UNCONCERNED,
        gpus=(),
        nodes=(),
        uvm_major=None,
        sva_missing=None,
        fabric_manager=_UNCONCERNED,
        fabric_manager_version=_UNCONCERNED,
        subnet_manager=_UNCONCERNED,
        imex=None,
        persistence_daemon=_UNCONCERNED,
        power_daemon=_UNCONCERNED,
        gridd=_UNCONCERNED,
        license=None,
        bbswitch=None,
        prime=_UNCONCERNED,
        switch=_UNCONCERNED,
        packages=_UNCONCERNED,
        wsl_drivers=None,
        dxgdmal=None,
    )


def loaded_modules(machine: Machine) -> Maybe[tuple[str, ...]]:
    """Return the loaded modules that matter for GPU computing, sorted."""
    try:
        text = machine.text("/proc/modules")
    except OSError as error:
        return Unknown(f"/proc/modules: {error.strerror}")
    names = (line.partition(" ")[0] for line in text.splitlines())
    return tuple(sorted(name for name in names if modprobe_conf.MATTER.fullmatch(name)))


def _loaded(
    machine: Machine, modules: Maybe[tuple[str, ...]], host: Host
) -> tuple[Maybe[str | None], Maybe[str | None]]:
    """Return version and flavor of the loaded module; None where no module is loaded."""
    path = f"{_PROC}/version"
    try:
        text = machine.text(path)
    except (FileNotFoundError, NotADirectoryError):
        return _without_proc(machine, modules, host)
    except OSError as error:
        return Unknown(f"{path}: {error.strerror}"), Unknown(f"{path}: {error.strerror}")
    found = loaded_driver(text)
    if found is None:
        why = Unknown(f"{path} contains no driver version: {text[:100]!r}")
        return why, why
    return found.version, found.flavor or Unknown(f"{path} does not show it")


def _without_proc(
    machine: Machine, modules: Maybe[tuple[str, ...]], host: Host
) -> tuple[Maybe[str | None], Maybe[str | None]]:
    why = Unknown(f"{_PROC}/version: no such file")
    version = machine.line("/sys/module/nvidia/version")
    if version:
        return version, why
    if known_or(host.wsl, None) is not None:
        return None, None
    if isinstance(modules, Unknown):
        return modules, modules
    return (why, why) if "nvidia" in modules else (None, None)


def _parameters(machine: Machine) -> dict[str, str]:
    lines = (machine.line(f"{_PROC}/params") or "").splitlines()
    pairs = (line.partition(":") for line in lines)
    found = {name.strip(): value.strip().strip('"') for name, colon, value in pairs if colon}
    hmm = machine.line(_HMM)
    return found | ({"uvm_disable_hmm": hmm} if hmm else {})


def _sva_missing(machine: Machine, cards: tuple[PciDevice, ...]) -> Maybe[bool | None]:
    from gpudoctor.probes.nvidia import shared_page_tables  # on Arm alone

    return shared_page_tables.probe(machine, cards)


def _gpus(machine: Machine, loaded: Maybe[str | None]) -> Maybe[tuple[str, ...]]:
    addresses = tuple(machine.names(f"{_PROC}/gpus"))
    if addresses or loaded is None or machine.exists(f"{_PROC}/gpus"):
        return addresses
    return Unknown(f"{_PROC}/gpus: no such directory")


def _uvm_major(machine: Machine) -> Maybe[int | None]:
    try:
        lines = machine.text("/proc/devices").splitlines()
    except OSError as error:
        return Unknown(f"/proc/devices: {error.strerror}")
    words = (line.split() for line in lines)
    said = next((w[0] for w in words if len(w) == 2 and w[1] == "nvidia-uvm"), None)
    number = whole(said or "")
    return Unknown(f"/proc/devices contains {said[:40]!r}") if said and number is None else number
