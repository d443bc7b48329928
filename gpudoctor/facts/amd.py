"""AMD's driver: amdgpu, /dev/kfd, the topology that KFD shows, and ROCm."""

import msgspec

from gpudoctor.facts.device_node import DeviceNode
from gpudoctor.facts.host import ConfigLine
from gpudoctor.facts.nvidia import Dkms
from gpudoctor.facts.text_types import Count, Small, Version
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()
NOT_RUN = Unknown("rocminfo was not run")


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """What amdgpu shows of one card in sysfs beside what `Gpu` holds; partitions of one card share it.

    None: this card has no such thing by design.
    """

    address: str  # "0000:01:00.0"
    compute_partition: Maybe[str | None] = NOT  # "SPX" (whole), "DPX", "TPX", "QPX", "CPX"
    memory_partition: Maybe[str | None] = NOT  # "NPS1", "NPS4"
    hive: Maybe[str | None] = NOT  # id of the group of cards that XGMI links join; None: in none
    pages_retired: Maybe[Count | None] = NOT  # pages of memory taken out of use
    pages_pending: Maybe[Count | None] = NOT  # pages that could not be taken out yet
    vram: Maybe[Count | None] = NOT  # bytes of its own memory; of an integrated GPU those that the firmware reserves
    performance_level: Maybe[str | None] = NOT  # "auto", "low", "high", "manual", "profile_min_sclk" ...


class AmdRepository(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the package manager's configuration that names AMD's server."""

    path: str  # of the file
    address: str  # "https://repo.radeon.com/rocm/apt/6.3.4"
    suite: str | None = None  # "jammy"; None: package managers of RPM have none


class RocrAgent(msgspec.Struct, frozen=True, kw_only=True):
    """A GPU that ROCm's runtime (ROCr) lists."""

    gfx: str  # "gfx1150"
    name: str | None = None  # as it is sold: "AMD Radeon Graphics"


class Rocminfo(msgspec.Struct, frozen=True, kw_only=True):
    """What `rocminfo`, which starts ROCm's runtime (ROCr) and lists what it finds, printed, and how it ended."""

    path: str
    agents: tuple[RocrAgent, ...] = ()  # GPUs alone; CPUs are agents too
    status: str | None = None  # of the call that failed: "HSA_STATUS_ERROR_OUT_OF_RESOURCES"; None: none did
    died: str | None = None  # the signal that ended it
    hung: bool = False  # it did not end within its full time
    lines: tuple[str, ...] = ()  # those that name what failed, verbatim


class UnloadableLibrary(msgspec.Struct, frozen=True, kw_only=True):
    """A library that links to others which the loader does not find."""

    path: str  # "/opt/rocm/lib/libhsa-runtime64.so.1"
    lacks: tuple[str, ...]  # ("libdxcore.so",)


class Amd(msgspec.Struct, frozen=True, kw_only=True):
    """AMD's driver. The GPUs themselves are in `Facts.gpus`, from KFD's topology."""

    loaded: Maybe[bool] = NOT  # /sys/module/amdgpu
    version: Maybe[Version | None] = NOT  # /sys/module/amdgpu/version; None: the in-tree driver has none
    kfd: Maybe[tuple[DeviceNode, ...]] = NOT  # /dev/kfd: empty where it is missing
    render: Maybe[tuple[DeviceNode, ...]] = NOT  # /dev/dri/renderD*
    topology: Maybe[bool] = NOT  # /sys/class/kfd shows nodes
    dkms: Maybe[tuple[Dkms, ...] | None] = NOT  # of amdgpu; None: dkms is not installed
    packages: Maybe[tuple[tuple[str, str, str], ...]] = NOT  # amdgpu-dkms, rock-dkms ...: (name, version, state)
    rocm: Maybe[Version | None] = NOT  # release: "6.3.4"; None: not installed
    rocm_path: Maybe[str | None] = NOT
    rocm_releases: Maybe[tuple[tuple[str, str], ...]] = (
        NOT  # (directory, release) of all, the chosen first; "": unknown
    )
    hip: Maybe[str | None] = NOT  # the installed ROCm's libamdhip64; None: there is none. Wheels bring their own
    blas_path: Maybe[str | None] = NOT  # directory of the kernels of the system's rocBLAS; None: there are none
    blas: Maybe[tuple[str, ...]] = NOT  # gfx targets that the system's rocBLAS, of any release here, has kernels for
    hip_lacks: Maybe[tuple[str, ...]] = NOT  # what it links to, or opens by name, and nothing here has
    unloadable: Maybe[tuple[UnloadableLibrary, ...]] = NOT  # of its HSA and HIP runtimes
    blacklisted: Maybe[bool] = NOT
    blacklist_lines: tuple[ConfigLine, ...] = ()  # of modprobe.d that blacklist amdgpu
    dxg: Maybe[bool] = NOT  # /dev/dxg: WSL's door
    rocdxg: Maybe[bool | None] = NOT  # librocdxg.so, ROCm's way through /dev/dxg, is there; None: no /dev/dxg
    rocdxg_off_path: Maybe[str | None] = NOT  # its directory where the loader looks in none that has it; None: it does
    boards: Maybe[tuple[Board, ...]] = NOT  # the cards that amdgpu drives
    repositories: Maybe[tuple[AmdRepository, ...]] = NOT  # AMD's, as apt, dnf or zypper know them
    opens_for_caller: Maybe[bool | None] = NOT  # whether who called sudo may open /dev/kfd; None: nobody did
    gtt_size: Maybe[Count | None] = NOT  # bytes that amdgpu.gttsize asks for; None: not set
    ttm_limit: Maybe[Count | None] = (
        NOT  # bytes that all drivers' buffers in RAM may take (ttm.pages_limit); None: no TTM
    )
    # Bytes that the kernel command line or modprobe.d asks for by (module).pages_limit, whether it is loaded or not.
    ttm_asked: Maybe[tuple[tuple[str, Count], ...]] = NOT  # (("amdttm", 134217728000),)
    closed_nodes: Maybe[Small] = NOT  # nodes of KFD that this process may not read: a group of devices hides their GPUs
    rocminfo: Maybe[tuple[Rocminfo, ...]] = NOT_RUN  # of the first on PATH; empty: there is no such program


# On macOS and native Windows.
NO_AMD = Amd(
    loaded=False,
    kfd=(),
    render=(),
    topology=False,
    rocm=None,
    rocm_path=None,
    rocm_releases=(),
    hip=None,
    blas_path=None,
    blas=(),
    hip_lacks=(),
    unloadable=(),
    dxg=False,
    boards=(),
    ttm_asked=(),
)
