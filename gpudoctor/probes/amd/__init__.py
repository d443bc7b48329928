"""AMD's driver: the module, its device nodes, KFD, and what is installed of ROCm."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudoctor.facts.amd import Amd, AmdRepository, Board, UnloadableLibrary
from gpudoctor.facts.device_node import DeviceNode
from gpudoctor.facts.gpu import Gpu
from gpudoctor.facts.host import Host
from gpudoctor.facts.nvidia import Dkms
from gpudoctor.facts.pci import PciDevice
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.parsers.numbers import signed, whole
from gpudoctor.probes import device_nodes
from gpudoctor.probes.amd import rocm

if TYPE_CHECKING:
    from gpudoctor.probes.nvidia.modprobe_conf import ModprobeConf

MODULE = "/sys/module/amdgpu"
VENDOR = "0x1002"
KFD = "/dev/kfd"
_TTM = ("amdttm", "ttm")
_PAGE = 4096  # bytes, on x86


def probe(machine: Machine, host: Host, cards: Sequence[PciDevice]) -> Amd:
    """Look at AMD's driver; programs are asked only where there is AMD's hardware or ROCm.

    Args:
        machine: where to look.
        host: what machine it is.
        cards: AMD's devices on the bus.
    """
    loaded = machine.exists(MODULE)
    release, path = rocm.release(machine)
    asked = bool(cards) or loaded or machine.exists(KFD) or path is not None
    idle = Unknown("not asked: there is no AMD GPU and no ROCm here")
    hip, lacks = _hip(machine, path) if asked else (idle, idle)
    blas_path, blas = _blas(machine) if cards else (idle, idle)
    rocdxg, off_path = _rocdxg(machine, path)
    opened = _nodes(machine, cards, loaded)
    conf = _modprobe_conf(machine, host) if asked else None
    return Amd(
        loaded=loaded if machine.exists("/sys/module") else Unknown("/sys is not mounted"),
        version=machine.line(f"{MODULE}/version") if loaded else None,
        kfd=tuple(n for n in opened if n.path == KFD),
        render=tuple(n for n in opened if n.path != KFD),
        topology=bool(machine.names(device_nodes.TOPOLOGY)),
        dkms=_dkms(machine) if asked else idle,
        packages=_packages(machine, host) if asked else idle,
        rocm=release,
        rocm_path=path,
        hip=hip,
        hip_lacks=lacks,
        blas_path=blas_path,
        blas=blas,
        unloadable=_unloadable(machine, path, hip) if asked else idle,
        rocm_releases=() if path is None else rocm.releases(machine),
        blacklisted=idle if conf is None else "amdgpu" in conf.blacklists,
        blacklist_lines=() if conf is None else conf.lines.get("amdgpu", ()),
        dxg=machine.exists("/dev/dxg"),
        rocdxg=rocdxg,
        rocdxg_off_path=off_path,
        boards=(boards := _boards(machine, cards)),
        gtt_size=_gtt_size(machine),
        ttm_limit=_ttm_limit(machine),
        ttm_asked=idle if conf is None else _ttm_asked(conf),
        closed_nodes=_closed_nodes(machine, boards),
        repositories=_repositories(machine) if asked else idle,
        opens_for_caller=_opens_for_caller(machine),
    )


def gpus(machine: Machine, cards: Sequence[PciDevice]) -> Maybe[tuple[Gpu, ...]]:
    """Return AMD's GPUs; without a topology of KFD nothing of the sensors is loaded."""
    if not machine.names(device_nodes.TOPOLOGY):
        return ()
    from gpudoctor.probes.amd import kfd

    return kfd.gpus(machine, cards)


def _nodes(machine: Machine, cards: Sequence[PciDevice], loaded: bool) -> tuple[DeviceNode, ...]:
    """/dev/kfd and the render nodes of AMD's GPUs, opened in one child.

    Where sysfs does not say whose a render node is, the loaded driver stands for it.
    """
    sleeping = {card.address for card in cards if card.runtime_status == "suspended"}
    found, closed = [KFD] if machine.exists(KFD) else [], {}
    for name in machine.names("/dev/dri"):
        if not name.startswith("renderD"):
            continue
        device = f"/sys/class/drm/{name}/device"
        vendor = machine.line(f"{device}/vendor")
        if vendor == VENDOR or (vendor is None and loaded):
            path = f"/dev/dri/{name}"
            found.append(path)
            # Opening a render node powers the GPU up (amdgpu_driver_open_kms); /dev/kfd does not.
            if machine.real(device).rpartition("/")[2] in sleeping:
                closed[path] = Unknown("not opened: the GPU sleeps, and opening would wake it")
    return device_nodes.look(machine, found, closed)


def _modprobe_conf(machine: Machine, host: Host) -> "ModprobeConf":
    from gpudoctor.probes.nvidia import modprobe_conf

    return modprobe_conf.probe(machine, known_or(host.kernel.command_line, ""))


def _dkms(machine: Machine) -> Maybe[tuple[Dkms, ...] | None]:
    from gpudoctor.probes.amd import packages  # with its parsers: only where there is something of AMD's

    return packages.dkms(machine)


def _hip(machine: Machine, path: Maybe[str | None]) -> tuple[Maybe[str | None], Maybe[tuple[str, ...]]]:
    if not isinstance(path, str):
        return (path, ()) if path is None else (path, path)
    from gpudoctor.probes.amd import hip

    return hip.runtime(machine, path)


def _blas(machine: Machine) -> tuple[Maybe[str | None], Maybe[tuple[str, ...]]]:
    from gpudoctor.probes.amd import rocblas

    return rocblas.kernels(machine)


def _unloadable(
    machine: Machine, path: Maybe[str | None], hip: Maybe[str | None]
) -> Maybe[tuple[UnloadableLibrary, ...]]:
    if not isinstance(path, str):
        return path or ()
    from gpudoctor.probes.amd import runtime_libraries

    return runtime_libraries.unloadable(machine, path, hip)


def _packages(machine: Machine, host: Host) -> Maybe[tuple[tuple[str, str, str], ...]]:
    from gpudoctor.probes.amd import packages

    return packages.packages(machine, host)


def _rocdxg(machine: Machine, rocm_path: Maybe[str | None]) -> tuple[bool | None, Maybe[str | None]]:
    """Whether librocdxg.so is there, and its directory where the loader finds none."""
    if not machine.exists("/dev/dxg"):
        return None, None
    from gpudoctor.probes.amd import rocdxg

    return bool(rocdxg.folders(machine, rocm_path)), rocdxg.off_path(machine, rocm_path)


def _boards(machine: Machine, cards: Sequence[PciDevice]) -> tuple[Board, ...]:
    if not any(card.driver == "amdgpu" for card in cards):
        return ()
    from gpudoctor.probes.amd import boards

    return boards.boards(machine, cards)


def _closed_nodes(machine: Machine, boards: Sequence[Board]) -> Maybe[int]:
    """Which GPUs are hidden matters only where cards are divided: there are 64 nodes of them on a big machine."""
    if all(board.compute_partition in (None, "SPX") for board in boards):
        return Unknown("not counted: no card is partitioned")
    folders = [f"{device_nodes.TOPOLOGY}/{node}" for node in machine.names(device_nodes.TOPOLOGY)]
    return sum(machine.line(f"{folder}/properties") is None for folder in folders)


def _gtt_size(machine: Machine) -> Maybe[int | None]:
    """Bytes that the module's parameter gttsize (MiB) asks for; -1 is its default."""
    if not machine.exists(MODULE):
        return None
    path = f"{MODULE}/parameters/gttsize"
    asked = signed(machine.line(path) or "")
    if asked is None:
        return Unknown(f"{path} cannot be read")
    return asked << 20 if asked > 0 else None


def _ttm_limit(machine: Machine) -> Maybe[int | None]:
    """Bytes of RAM that drivers may take through TTM, the kernel's or that of AMD's driver package (amdttm)."""
    folder = next((f"/sys/module/{name}" for name in _TTM if machine.exists(f"/sys/module/{name}")), None)
    if folder is None:
        return None
    path = f"{folder}/parameters/pages_limit"
    pages = whole(machine.line(path) or "")
    return Unknown(f"{path} cannot be read") if pages is None else pages * _PAGE


def _ttm_asked(conf: "ModprobeConf") -> tuple[tuple[str, int], ...]:
    asked = ((name, whole(conf.options.get(f"{name}.pages_limit", ""))) for name in _TTM)
    return tuple((name, pages * _PAGE) for name, pages in asked if pages)


def _repositories(machine: Machine) -> tuple[AmdRepository, ...]:
    from gpudoctor.probes.amd import repositories

    return repositories.repositories(machine)


def _opens_for_caller(machine: Machine) -> Maybe[bool | None]:
    """Whether the user who called sudo may open /dev/kfd: root may, and that says nothing of who will compute.

    access(2) in a child with that user's identity, because lists of access (setfacl, systemd's uaccess) count too.
    """
    uid, gid = machine.env.get("SUDO_UID", ""), machine.env.get("SUDO_GID", "")
    if machine.ids()[0] != 0 or not (uid.isdecimal() and gid.isdecimal()) or uid == "0" or not machine.exists(KFD):
        return None
    ended = machine.run(
        ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--init-groups", "--", "/usr/bin/test", "-w", KFD]
    )
    if ended.code in (0, 1) and not ended.err.strip():
        return ended.code == 0
    return Unknown(f"setpriv: {ended.missing or ended.err.strip() or 'it timed out'}")
