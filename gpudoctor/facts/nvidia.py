"""NVIDIA's driver: the kernel's half, the user's half, and what each says when asked."""

import msgspec

from gpudoctor.facts.device_node import DeviceNode
from gpudoctor.facts.host import ConfigLine
from gpudoctor.facts.text_types import Capability, Count, Duration, Gpus, Release, Small, Version, Whole
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class DiskModule(msgspec.Struct, frozen=True, kw_only=True):
    """nvidia.ko as it lies under /lib/modules for one kernel."""

    kernel: str
    path: str
    version: Maybe[str | None] = NOT
    flavor: Maybe[str | None] = NOT  # open, proprietary
    signer: Maybe[str | None] = NOT  # None: not signed
    serial: str | None = None  # serial number of the signer's certificate, "4c:df:12:...", as modinfo prints it
    vermagic: Maybe[str | None] = NOT  # the kernel release that it was built for
    age: Maybe[Duration] = NOT  # seconds since the file was installed


class Dkms(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `dkms status`."""

    module: str
    version: str
    kernel: str | None = None
    state: str = ""  # added, built, installed, broken ...
    source: Version | None = None  # of the open modules' own source, by its version.mk; None: it has no such file


class NvidiaKernel(msgspec.Struct, frozen=True, kw_only=True):
    """The kernel's half of NVIDIA's driver."""

    loaded: Maybe[Version | None] = NOT  # version of the loaded module; None: not loaded
    flavor: Maybe[str | None] = NOT  # of the loaded module: open, proprietary
    modules: Maybe[tuple[str, ...]] = NOT  # loaded ones that matter: nvidia, nvidia_uvm, nouveau, mlx5_ib ...
    on_disk: Maybe[tuple[DiskModule, ...]] = NOT  # for the running kernel
    other_kernels: Maybe[tuple[DiskModule, ...]] = NOT
    headers_offered: Maybe[bool | None] = None  # apt has the running kernel's missing headers; None: nobody asked
    dkms: Maybe[tuple[Dkms, ...] | None] = NOT  # None: dkms is not installed
    dkms_unlisted: tuple[str, ...] = ()  # sources that DKMS could build and does not list: "nvidia/560.35.03"
    dkms_errors: tuple[str, ...] = ()  # the telling lines of make.log, or of akmods's log of a failed build
    akmods_log: str | None = None  # the log that they are from where akmods builds; None: it failed nowhere
    # Certificates of the modules in an image (ostree: Silverblue, bootc); None: the system is no image.
    image_keys: tuple[str, ...] | None = None
    # The kernel trusts the key that signed on_disk's first module; None: loaded or unsigned, or no Secure Boot.
    signer_enrolled: Maybe[bool | None] = NOT
    key_pending: bool = False  # its key is not enrolled, and the firmware asks about it at the next boot (mokutil)
    installer: Maybe[str | None] = NOT  # runfile, package; None: no trace of an installation
    blacklists: tuple[str, ...] = ()  # modules that /etc/modprobe.d or the kernel command line blacklists
    blacklist_lines: tuple[ConfigLine, ...] = ()  # of modprobe.d that blacklist the module nvidia itself
    vfio_lines: tuple[ConfigLine, ...] = ()  # of modprobe.d that give vfio-pci ids of devices to take
    nouveau_lines: tuple[ConfigLine, ...] = ()  # of files that load nouveau, which is loaded, by name at each boot
    # Where Debian's alternative glx leads: /usr/lib/nvidia, /usr/lib/mesa-diverted; None: there is no such alternative.
    glx: str | None = None
    options: dict[str, str] = {}  # module options in modprobe.d: {"nvidia.NVreg_OpenRmEnableUnsupportedGpus": "1"}
    # /proc/driver/nvidia/params of the loaded module, and nvidia_uvm's uvm_disable_hmm ("N", "Y").
    parameters: dict[str, str] = {}
    gpus: Maybe[tuple[str, ...]] = NOT  # PCI addresses under /proc/driver/nvidia/gpus
    nodes: Maybe[tuple[DeviceNode, ...]] = NOT  # /dev/nvidia*, /dev/nvidia-caps/*, /dev/dxg
    # Looked for where a node answers EPERM: the systemd units that this process is in, outermost first, and those of
    # them whose files restrict devices.
    units: tuple[str, ...] = ()
    restricting_units: tuple[str, ...] = ()
    # The kernel shares no page tables with devices (CONFIG_ARM_SMMU_V3_SVA is off); None: no GPU here needs that.
    sva_missing: Maybe[bool | None] = NOT
    uvm_major: Maybe[Small | None] = NOT  # of nvidia-uvm in /proc/devices; None: not registered
    fabric_manager: Maybe[str | None] = NOT  # systemd's word: active, inactive, failed, masked; None: not installed
    fabric_manager_version: Maybe[str | None] = NOT
    # NVLink's subnet manager (nvlsm), which the fabric manager needs on HGX B200 and newer: its program; None: none.
    subnet_manager: Maybe[str | None] = NOT
    imex: Maybe[str | None] = NOT  # nvidia-imex of multi-node NVLink, in systemd's word; None: not installed
    persistence_daemon: Maybe[str | None] = NOT
    # nvidia-powerd (Dynamic Boost of laptops): active, inactive, no-unit (the program is there, its unit is not
    # installed), unsupported (this firmware has no Dynamic Boost); None: not installed.
    power_daemon: Maybe[str | None] = NOT
    power_daemon_files: tuple[str, ...] = ()  # of no-unit: its unit and its D-Bus policy, as the package ships them
    dynamic_boost: Maybe[bool | None] = NOT  # the driver can use it on this notebook; None: it reports nothing
    gridd: Maybe[str | None] = NOT  # vGPU license daemon
    license: Maybe[str | None] = NOT  # vGPU license state as nvidia-smi -q words it; None: no vGPU
    bbswitch: Maybe[str | None] = NOT  # "ON", "OFF"; None: no bbswitch
    prime: Maybe[str | None] = NOT  # prime-select's choice: nvidia, intel, on-demand; None: no prime-select
    # The laptop's tool whose files switch the NVIDIA GPU off (envycontrol, supergfxctl, system76-power,
    # optimus-manager), "asus-firmware", or "udev" where a rule of somebody else's does; None: none.
    switch: Maybe[str | None] = NOT
    switch_files: tuple[str, ...] = ()
    switch_lost: bool = False  # the tool itself is not installed any more
    packages: Maybe[tuple[tuple[str, str, str], ...]] = NOT  # of the driver: (name, version, state)
    # Folders of NVIDIA's Windows driver under /usr/lib/wsl/drivers; None: Windows shows none of its files here.
    wsl_drivers: Maybe[tuple[str, ...] | None] = NOT
    dxgdmal: Maybe[bool | None] = NOT  # libnvdxgdmal.so.1, which WSL's libcuda needs from 555 on; None: no WSL


NO_KERNEL = NvidiaKernel(modules=(), nodes=())  # on macOS and native Windows


class DriverLibrary(msgspec.Struct, frozen=True, kw_only=True):
    """A shared library as the dynamic loader finds it."""

    soname: str  # "libcuda.so.1"
    path: str
    real: str  # links resolved
    version: Maybe[str | None] = NOT  # from the file's name: "550.54.14"
    found_by: str = ""  # LD_LIBRARY_PATH, cache, default directory, WSL ...
    kind: str = "driver"  # driver, compat, stub, wsl, wheel, toolkit, system, other
    size: Count | None = None  # bytes; 0: an empty file


class CudaDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device as libcuda lists it, after CUDA_VISIBLE_DEVICES."""

    index: Small
    name: Maybe[str] = NOT
    uuid: Maybe[str | None] = NOT
    capability: Maybe[Capability] = NOT
    memory: Maybe[Count] = NOT  # bytes
    address: Maybe[str | None] = NOT


class Cuda(msgspec.Struct, frozen=True, kw_only=True):
    """What libcuda.so.1 answered in a child process."""

    libraries: Maybe[tuple[DriverLibrary, ...]] = NOT  # every libcuda.so.1 in the loader's order; empty: none
    loaded: Maybe[str | None] = NOT  # the file that the child had mapped
    code: Maybe[Whole | None] = NOT  # cuInit's result; None: there is no library to ask
    name: Maybe[str | None] = NOT  # CUDA_ERROR_NO_DEVICE
    text: Maybe[str | None] = NOT
    version: Maybe[Release | None] = NOT  # CUDA version of the driver: "12.4"
    devices: Maybe[tuple[CudaDevice, ...]] = NOT
    unmasked_code: Maybe[Whole | None] = NOT  # cuInit's result without CUDA_VISIBLE_DEVICES; None: not set
    hung: str | None = None  # the stage in which the child stopped answering
    died: str | None = None  # the signal that ended the child


class Nvml(msgspec.Struct, frozen=True, kw_only=True):
    """What libnvidia-ml.so.1 answered in a child process."""

    libraries: Maybe[tuple[DriverLibrary, ...]] = NOT
    loaded: Maybe[str | None] = NOT
    code: Maybe[Whole | None] = NOT  # nvmlInit's result; None: there is no library to ask
    text: Maybe[str | None] = NOT
    driver_version: Maybe[Version | None] = NOT
    cuda_version: Maybe[Release | None] = NOT
    count: Maybe[Gpus | None] = NOT  # nvmlDeviceGetCount
    confidential: Maybe[bool | None] = NOT  # confidential computing is on; None: not for these GPUs
    accepts_work: Maybe[bool | None] = NOT  # with it on: whether the GPUs are set ready for programs
    hung: str | None = None
    died: str | None = None
    smi: Maybe[str | None] = NOT  # path of nvidia-smi on PATH; None: not on PATH
    smi_elsewhere: Maybe[str | None] = NOT  # where it lies off PATH (/usr/lib/wsl/lib/nvidia-smi)


class Nvidia(msgspec.Struct, frozen=True, kw_only=True):
    """All of NVIDIA's driver."""

    kernel: NvidiaKernel = NvidiaKernel()
    cuda: Cuda = Cuda()
    nvml: Nvml = Nvml()
    other_libraries: tuple[DriverLibrary, ...] = ()  # libnvidia-ptxjitcompiler.so.1, libnvidia-nvvm.so.4 ... as found
    link_libraries: Maybe[tuple[DriverLibrary, ...]] = NOT  # copies of libcuda.so, which a linker takes for -lcuda
