"""What machine this is, before any GPU is asked: distribution, kernel, container, memory, user."""

import msgspec

from gpudoctor.facts.text_types import Count, Duration, Number, Small, Version
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """The distribution, from os-release."""

    id: Maybe[str] = NOT  # "ubuntu"
    like: tuple[str, ...] = ()  # ("debian",)
    version: Maybe[str | None] = NOT  # "24.04"; None on rolling releases
    codename: Maybe[str | None] = NOT  # "noble"
    name: Maybe[str] = NOT  # "Ubuntu 24.04.3 LTS"
    variant: Maybe[str | None] = NOT  # VARIANT_ID: "silverblue", or the image's name; None: there is none


class Kernel(msgspec.Struct, frozen=True, kw_only=True):
    """The running kernel."""

    release: Maybe[str] = NOT  # "6.8.0-60-generic"
    compiler: Maybe[str | None] = NOT  # "gcc 12.3.0", from /proc/version
    command_line: Maybe[str] = NOT
    lockdown: Maybe[str | None] = NOT  # "none", "integrity", "confidentiality"; None: no lockdown in this kernel
    secure_boot: Maybe[bool | None] = NOT  # None: no EFI
    headers: Maybe[bool] = NOT  # /lib/modules/RELEASE/build holds a Makefile
    reboot_required: Maybe[bool] = NOT  # /run/reboot-required
    firmware_loader: Maybe[bool] = NOT  # it can load firmware files: CONFIG_FW_LOADER
    modules: Maybe[bool] = NOT  # its own modules lie under /lib/modules; False: an update removed them
    others: Maybe[tuple[str, ...]] = NOT  # releases of the other installed kernels, the newest last
    by_dracut: Maybe[bool] = NOT  # dracut makes the initial RAM disks here, and there is no update-initramfs
    # Room on the file system of /boot, and the size of the running kernel's initial RAM disk there; bytes.
    boot_free: Maybe[Count] = NOT
    initramfs: Maybe[Count | None] = NOT  # None: there is none by the name that the family gives it
    # linux-modules-extra-RELEASE is installed, the package with modules that cloud kernels rarely need; None: no Ubuntu
    extra_modules: Maybe[bool | None] = NOT


class Shm(msgspec.Struct, frozen=True, kw_only=True):
    """/dev/shm; sizes in bytes."""

    size: Maybe[Count | None] = NOT  # None: not mounted
    free: Maybe[Count | None] = NOT
    mode: Maybe[str | None] = NOT  # "1777"
    writable: Maybe[bool | None] = NOT


class WritableDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """A folder in which something has to be written, and the room left there (bytes)."""

    path: str
    purpose: str
    free: Maybe[Count] = NOT
    writable: Maybe[bool] = NOT
    executable: Maybe[bool] = NOT  # code can be loaded from there: it is not mounted noexec


class UserGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A numeric group of the user; the name is None where /etc/group does not know the number."""

    gid: Small
    name: str | None = None


class User(msgspec.Struct, frozen=True, kw_only=True):
    """Whose permissions are judged."""

    uid: Maybe[Small] = NOT
    name: Maybe[str | None] = NOT
    login: Maybe[bool] = NOT  # programs find a name for it: in LOGNAME, USER, LNAME or USERNAME, or by its account
    groups: Maybe[tuple[UserGroup, ...]] = NOT  # of this process
    known_groups: tuple[UserGroup, ...] = ()  # of /etc/group: those that matter for GPUs (render, video ...)
    sudo: Maybe[bool] = NOT  # whether there is one to ask for root


class Thunderbolt(msgspec.Struct, frozen=True, kw_only=True):
    """A device on Thunderbolt or USB4; what is not authorised has no PCI devices."""

    place: str  # "0-1"
    name: str = ""  # "Core X Chroma"
    vendor: str = ""
    authorized: Maybe[bool] = NOT


class PackageSource(msgspec.Struct, frozen=True, kw_only=True):
    """A package repository that is enabled, and that is the distribution's own or has NVIDIA's driver."""

    path: str  # of the file that names it
    kind: str  # distribution, nvidia, rpmfusion, negativo17
    release: str | None = None  # the suite ("trixie"), or in NVIDIA's address the release that it is for ("debian12")
    components: tuple[str, ...] = ()  # of apt: main, contrib, non-free ...
    address: str = ""  # of apt's own archives: where they are; else empty


class NegativePin(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of apt's preferences keeps from being installed, by a priority below 0."""

    path: str
    packages: tuple[str, ...]  # names, patterns with * and ?, regular expressions between slashes
    source: str  # of which the priority is: "release *", "origin developer.download.nvidia.com"
    alone: bool  # whether the file has nothing else


class ConfigLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a configuration file."""

    path: str
    text: str  # without blanks at its ends


class IgnoredPreload(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of /etc/ld.so.preload that the loader ignores."""

    path: str
    reason: str  # "Is a directory", "No such file or directory", "not an ELF file"


class NcclSetting(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of NCCL's own sets as a variable would; of NCCL_GRAPH_FILE also what the environment sets."""

    name: str  # "NCCL_GRAPH_FILE"
    value: str
    file: str | None  # /etc/nccl.conf, ~/.nccl.conf; None: the environment
    gpus: Maybe[Small | None] = None  # between how many GPUs the channels of that graph are; None: it is no graph


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine as the operating system shows it."""

    system: str = "Linux"
    architecture: Maybe[str] = NOT  # "x86_64", "aarch64"
    hostname: Maybe[str] = NOT
    platform: Maybe[str] = NOT  # bare, laptop, vm, container, wsl, jetson, dgx-spark, grace
    distribution: Distribution = Distribution()
    kernel: Kernel = Kernel()
    product: Maybe[str | None] = NOT  # "VMware, Inc. VMware7,1"
    virtual: Maybe[str | None] = NOT  # hypervisor: "kvm", "vmware", "microsoft" ...; None: none
    container: Maybe[str | None] = NOT  # docker, podman, containerd, kubernetes, lxc, apptainer; None: none
    kubernetes: Maybe[bool] = NOT
    wsl: Maybe[Small | None] = NOT  # 1, 2; None: not WSL
    cgroup: Maybe[Small | None] = NOT  # 1, 2
    memory: Maybe[Count] = NOT  # bytes, of the machine
    memory_available: Maybe[Count] = NOT  # bytes
    memory_limit: Maybe[Count | None] = NOT  # bytes, of the cgroup; None: no limit
    memory_kills: Maybe[Count | None] = NOT  # processes that the OOM killer ended at that limit; None: no limit
    cpus: Maybe[Number] = NOT  # usable cores, the cgroup's quota counted in
    memlock: Maybe[Count | None] = NOT  # bytes; None: unlimited
    shm: Shm = Shm()
    directories: tuple[WritableDirectory, ...] = ()  # caches: PyTorch, Triton, CuPy, CUDA, Hugging Face, TMPDIR
    user: User = User()
    selinux: Maybe[str | None] = NOT  # enforcing, permissive, disabled; None: not in this kernel
    environment: dict[str, str] = {}  # the variables that matter for GPUs; tokens are masked
    nccl_settings: tuple[NcclSetting, ...] = ()
    working_directory_shadows: tuple[str, ...] = ()  # torch.py, numpy/ ... in the working directory
    uptime: Maybe[Duration] = NOT  # seconds since the machine started
    mains: Maybe[bool | None] = NOT  # the charger supplies power; None: the kernel shows no power supply
    # The firmware's platform_profile: low-power, balanced, performance ...; None: this firmware has none.
    power_profile: Maybe[str | None] = NOT
    cpu_list: Maybe[str] = NOT  # processors on which this process may run, "0-15"
    numa_balancing: Maybe[bool | None] = NOT  # the kernel moves pages between nodes; None: a kernel without
    address_space: Maybe[Count | None] = NOT  # bytes that a process may map (ulimit -v); None: unlimited
    may_lock: Maybe[bool] = NOT  # CAP_IPC_LOCK: memlock does not bind this process
    seccomp: Maybe[bool] = NOT  # a filter decides which system calls this process may make (containers: always)
    rdma: Maybe[bool] = NOT  # /dev/infiniband holds a device
    rdma_devices: Maybe[tuple[str, ...]] = NOT  # "mlx5_0": of /sys/class/infiniband
    rdma_library: Maybe[bool | None] = NOT  # the loader finds libibverbs; None: there is no RDMA device
    # The folder of AWS's NCCL plugin (EFA) where the loader does not find it; None: it does, or there is none.
    plugin_off_path: Maybe[str | None] = NOT
    interfaces: Maybe[tuple[str, ...]] = NOT  # network interfaces: "lo", "eth0"
    l4t: Maybe[Version | None] = NOT  # Jetson Linux: "36.4.3"; None: no Jetson
    ignored_preloads: Maybe[tuple[IgnoredPreload, ...]] = NOT
    cpu_flags: Maybe[tuple[str, ...] | None] = NOT  # those of knowledge/cpu_features.toml; None: no x86-64
    thunderbolt: Maybe[tuple[Thunderbolt, ...]] = NOT
    sources: Maybe[tuple[PackageSource, ...]] = NOT  # package repositories
    pins: Maybe[tuple[NegativePin, ...]] = NOT  # of apt
