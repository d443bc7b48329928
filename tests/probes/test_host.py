"""What machine this is: platform classes, containers, limits, user, and what is hidden from a container."""

from typing import Any

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import Host, UserGroup
from gpudoctor.machine import Space, Status
from gpudoctor.maybe import Unknown
from gpudoctor.probes.host import probe
from gpudoctor.recorded_machine import RecordedMachine

ENROOT = "912 801 259:2 /data/enroot/user-1000/pyxis_4711.0 / rw,relatime - xfs /dev/nvme0n1p2 rw\n"
BARE = {
    "/etc/os-release": 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n'
    "ID=ubuntu\nID_LIKE=debian\n",
    "/proc/version": "Linux version 6.8.0-60-generic (buildd@lcy02) (x86_64-linux-gnu-gcc-13 (Ubuntu "
    "13.3.0-6ubuntu2~24.04) 13.3.0, GNU ld (GNU Binutils for Ubuntu) 2.42) #63-Ubuntu SMP PREEMPT_DYNAMIC",
    "/proc/cmdline": "BOOT_IMAGE=/vmlinuz ro quiet",
    "/proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu vme sse2\n",
    "/proc/meminfo": "MemTotal:       65536000 kB\nMemFree: 1 kB\nMemAvailable:   60000000 kB\n",
    "/proc/self/status": "Name:\tpython\nCpus_allowed_list:\t0-7,16\n",
    "/proc/self/cgroup": "0::/user.slice/session-2.scope\n",
    "/proc/1/cgroup": "0::/init.scope\n",
    "/sys/fs/cgroup/cgroup.controllers": "cpu memory",
    "/sys/class/dmi/id/sys_vendor": "ASUSTeK COMPUTER INC.",
    "/sys/class/dmi/id/product_name": "System Product Name",
    "/sys/class/dmi/id/chassis_type": "3",
    "/sys/firmware/acpi/tables/DSDT": "",
    "/sys/kernel/security/lockdown": "none [integrity] confidentiality",
    "/etc/group": "root:x:0:\nvideo:x:44:\nrender:x:992:ada\nada:x:1000:\n",
    "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000::/home/ada:/bin/bash\n",
}


def host(files: dict[str, str | bytes] | None = None, without: tuple[str, ...] = (), **more: Any) -> Host:
    everything = {path: text for path, text in {**BARE, **(files or {})}.items() if path not in without}
    return probe(RecordedMachine(everything, **more))


def test_a_bare_machine() -> None:
    found = host(ids=(1000, 1000, (44, 1000, 4242)))
    assert (found.platform, found.virtual, found.container, found.kubernetes, found.wsl) == (
        "bare",
        None,
        None,
        False,
        None,
    )
    assert found.distribution.id == "ubuntu"
    assert found.distribution.codename == "noble"
    assert found.product == "ASUSTeK COMPUTER INC."  # the board maker's filler is left out
    assert found.kernel.compiler == "gcc 13.3.0"
    assert found.kernel.lockdown == "integrity"
    assert found.kernel.secure_boot is None
    assert found.kernel.headers is False
    assert found.kernel.reboot_required is False
    assert (found.memory, found.memory_available, found.memory_limit) == (65536000 << 10, 60000000 << 10, None)
    assert found.cpus == 9.0
    assert found.selinux is None
    assert found.user.name == "ada"
    assert found.user.groups == (
        UserGroup(gid=44, name="video"),
        UserGroup(gid=1000, name="ada"),
        UserGroup(gid=4242, name=None),
    )
    assert found.user.known_groups == (UserGroup(gid=992, name="render"), UserGroup(gid=44, name="video"))
    assert found.user.sudo is False


DMI = "/sys/class/dmi/id/"
FLAG = {"/proc/cpuinfo": "flags : fpu sse2 hypervisor lahf_lm\n"}
ARM = "processor : 0\nCPU part\t: 0xd4f\n"


@pytest.mark.parametrize(
    ("files", "more", "platform", "virtual"),
    [
        ({DMI + "chassis_type": "10"}, {}, "laptop", None),
        ({DMI + "chassis_type": "10", **FLAG}, {}, "laptop", "other"),  # no hypervisor gives its guests such a chassis
        ({DMI + "sys_vendor": "QEMU", DMI + "product_name": "Standard PC"}, {}, "vm", "kvm"),  # the flag is hidden
        ({DMI + "sys_vendor": "KubeVirt", DMI + "product_name": "None"}, {}, "vm", "kvm"),
        ({DMI + "sys_vendor": "VMware, Inc.", DMI + "product_name": "VMware7,1", **FLAG}, {}, "vm", "vmware"),
        ({DMI + "sys_vendor": "Microsoft Corporation", DMI + "product_name": "Virtual Machine"}, {}, "vm", "microsoft"),
        (
            {
                DMI + "sys_vendor": "Microsoft Corporation",
                DMI + "product_name": "Surface Book",
                DMI + "chassis_type": "9",
            },
            {},
            "laptop",
            None,
        ),
        # A flag alone does not make a Surface a guest of Hyper-V, whose product is "Virtual Machine".
        (
            {DMI + "sys_vendor": "Microsoft Corporation", DMI + "product_name": "Surface Book 2", **FLAG},
            {},
            "vm",
            "other",
        ),
        ({DMI + "sys_vendor": "Amazon EC2", DMI + "product_name": "g5.xlarge", **FLAG}, {}, "vm", "amazon"),
        ({DMI + "sys_vendor": "Amazon EC2", DMI + "product_name": "p4d.metal"}, {}, "bare", None),
        (FLAG, {}, "vm", "other"),
        ({"/proc/xen/capabilities": "control_d", "/sys/hypervisor/type": "xen", **FLAG}, {}, "bare", None),
        ({"/etc/nv_tegra_release": "# R36"}, {"architecture": "aarch64"}, "jetson", None),
        ({"/etc/nv_tegra_release": "# R36", "/.dockerenv": ""}, {"architecture": "aarch64"}, "jetson", None),
        (
            {"/proc/device-tree/model": "NVIDIA Jetson AGX Orin Developer Kit\0", "/proc/cpuinfo": ARM},
            {"architecture": "aarch64"},
            "jetson",
            None,
        ),
        ({"/proc/device-tree/compatible": "nvidia,tegra234\0", **FLAG}, {"architecture": "armv8l"}, "jetson", "other"),
        ({DMI + "product_name": "NVIDIA_DGX_Spark"}, {"architecture": "aarch64"}, "dgx-spark", None),
        (
            {"/proc/cpuinfo": "CPU part\t: 0xd87\nCPU part\t: 0xd85\n"},
            {"architecture": "aarch64"},
            "dgx-spark",
            None,
        ),
        (
            {"/proc/cpuinfo": ARM, "/sys/devices/soc0/soc_id": "jep106:036b:0241"},
            {"architecture": "aarch64"},
            "grace",
            None,
        ),
        # Graviton has Grace's cores.
        (
            {"/proc/cpuinfo": ARM, DMI + "sys_vendor": "Amazon EC2", DMI + "product_name": "g5g.xlarge"},
            {"architecture": "aarch64"},
            "vm",
            "amazon",
        ),
        (
            {"/proc/cpuinfo": ARM, DMI + "sys_vendor": "Amazon EC2", DMI + "product_name": "g5g.metal"},
            {"architecture": "aarch64"},
            "bare",
            None,
        ),
    ],
)
def test_platform(files: dict[str, str], more: dict[str, Any], platform: str, virtual: str | None) -> None:
    found = host({**files}, **more)
    assert (found.platform, found.virtual) == (platform, virtual)


DOCKER_MOUNT = "9 1 8:1 /var/lib/docker/containers/ab12/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"
CRI_MOUNT = (
    "1 0 0:5 / / rw - overlay overlay rw,upperdir=/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/fs\n"
)
KUBELET = "9 1 8:1 /var/lib/kubelet/pods/1f/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n"
LXCFS = "9 1 0:44 /proc/meminfo /proc/meminfo rw,nosuid - fuse.lxcfs lxcfs rw\n"
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/token"


@pytest.mark.parametrize(
    ("files", "env", "container", "kubernetes"),
    [
        ({"/.dockerenv": ""}, {}, "docker", False),
        ({"/run/.containerenv": 'engine="podman-5.2.0"\n'}, {}, "podman", False),
        ({"/run/.containerenv": ""}, {}, "podman", False),
        ({"/run/.containerenv": "", "/run/.toolboxenv": ""}, {}, "toolbox", False),
        ({"/run/.containerenv": ""}, {"DISTROBOX_ENTER_PATH": "/usr/bin/distrobox-enter"}, "distrobox", False),
        ({"/.flatpak-info": "[Application]\n"}, {"container": "flatpak"}, "flatpak", False),
        ({"/proc/self/mountinfo": ENROOT}, {}, "enroot", False),
        ({"/run/systemd/container": "lxc\n"}, {"container": "lxc"}, "lxc", False),
        ({"/run/systemd/container": "wsl\n"}, {}, None, False),
        ({"/proc/self/mountinfo": LXCFS}, {}, "lxc", False),
        ({"/proc/1/environ": "PATH=/bin\0container=lxc\0"}, {}, "lxc", False),
        ({"/.singularity.d/runscript": ""}, {"APPTAINER_NAME": "x.sif"}, "apptainer", False),
        ({"/.dockerenv": "", ACCOUNT: "x"}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "docker", True),
        ({ACCOUNT: "x"}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes", True),
        ({"/proc/self/mountinfo": CRI_MOUNT + KUBELET}, {}, "containerd", True),
        ({"/proc/1/cgroup": "5:memory:/kubepods/besteffort/pod1/cri-containerd-2.scope"}, {}, "containerd", True),
        ({"/proc/1/cgroup": "5:memory:/docker/0123abc\n"}, {}, "docker", False),
        ({"/proc/self/mountinfo": DOCKER_MOUNT}, {}, "docker", False),
        # A variable alone makes no container, and a host that runs containers is none.
        ({}, {"container": "podman"}, None, False),
        ({}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, None, False),
        ({}, {"APPTAINER_NAME": "x.sif"}, None, False),
        ({"/proc/self/mountinfo": DOCKER_MOUNT.replace(" /etc/hosts ", " /var/lib/docker/x ")}, {}, None, False),
    ],
)
def test_container(files: dict[str, str], env: dict[str, str], container: str | None, kubernetes: bool) -> None:
    found = host({**files}, env=env)
    assert (found.container, found.kubernetes) == (container, kubernetes)
    assert found.platform == ("container" if container else "bare")


@pytest.mark.parametrize(
    ("release", "files", "env", "version"),
    [
        ("5.15.167.4-microsoft-standard-WSL2", {}, {}, 2),
        ("4.19.84-microsoft-standard", {}, {}, 2),
        ("4.4.0-19041-Microsoft", {}, {}, 1),
        ("6.1.21.2-own", {"/usr/lib/wsl/lib/x": "", "/proc/sys/fs/binfmt_misc/WSLInterop": ""}, {}, 2),
        ("6.1.21.2-own", {"/usr/lib/wsl/lib/x": ""}, {"WSL_DISTRO_NAME": "Ubuntu"}, 2),
        ("6.8.0-1021-azure", {}, {}, None),
        # A Hyper-V guest with a share of the GPU is a virtual machine.
        ("6.8.0-52-generic", {"/usr/lib/wsl/drivers/x": "", "/dev/dxg": ""}, {}, None),
        ("6.8.0-60-generic", {}, {"WSL_DISTRO_NAME": "left over"}, None),
    ],
)
def test_wsl(release: str, files: dict[str, str], env: dict[str, str], version: int | None) -> None:
    found = host({**files}, release=release, env=env)
    assert found.wsl == version
    assert (found.platform == "wsl") == (version is not None)


SECURE = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


def test_secure_boot() -> None:
    assert host({SECURE: b"\x06\0\0\0\1"}).kernel.secure_boot is True
    assert host({SECURE: b"\x06\0\0\0\0"}).kernel.secure_boot is False
    assert host(commands={"mokutil --sb-state": "SecureBoot enabled\n"}).kernel.secure_boot is True
    closed = host({SECURE: b""}, errors={SECURE: "EACCES"}).kernel.secure_boot
    assert isinstance(closed, Unknown)
    assert "Permission denied" in closed.unknown
    masked = host(without=("/sys/firmware/acpi/tables/DSDT",)).kernel.secure_boot
    assert masked == Unknown("/sys/firmware is empty here; ask on the host")


def test_a_container_hides_its_host() -> None:
    found = host({"/.dockerenv": ""}, without=("/sys/kernel/security/lockdown",)).kernel
    assert isinstance(found.headers, Unknown)
    assert isinstance(found.lockdown, Unknown)
    assert isinstance(found.reboot_required, Unknown)


def test_kernel_headers_and_reboot() -> None:
    found = host({"/lib/modules/6.8.0-60-generic/build/Makefile": "", "/run/reboot-required": ""}).kernel
    assert found.headers is True
    assert found.modules is False  # an update took them; only what DKMS made is left
    assert host({"/lib/modules/6.8.0-60-generic/modules.dep": ""}).kernel.modules is True
    assert found.reboot_required is True


CONTAINER_T = "system_u:system_r:container_t:s0:c112,c901\0"


@pytest.mark.parametrize(
    ("files", "commands", "state"),
    [
        ({"/sys/fs/selinux/enforce": "1"}, {}, "enforcing"),
        ({"/sys/fs/selinux/enforce": "0"}, {}, "permissive"),
        ({"/etc/selinux/config": "SELINUX=enforcing\n"}, {"getenforce": "Enforcing\n"}, "enforcing"),
        ({"/etc/selinux/config": "# SELINUX=\nSELINUX=disabled\n"}, {}, "disabled"),
        ({"/proc/self/attr/current": "docker-default (enforce)\n"}, {}, None),
    ],
)
def test_selinux(files: dict[str, str], commands: dict[str, str], state: str | None) -> None:
    assert host({**files}, commands=commands).selinux == state


def test_getenforce_is_not_believed_in_a_labelled_container() -> None:
    found = host({"/proc/self/attr/current": CONTAINER_T}, commands={"getenforce": "Disabled\n"}).selinux
    assert isinstance(found, Unknown)
    assert "container_t" in found.unknown


def test_limits_of_cgroups() -> None:
    second = host(
        {
            "/proc/self/cgroup": "0::/a/b\n",
            "/sys/fs/cgroup/a/b/memory.max": "max",
            "/sys/fs/cgroup/a/memory.max": "1073741824",
            "/sys/fs/cgroup/a/b/cpu.max": "150000 100000",
            "/sys/fs/cgroup/a/cpu.max": "max 100000",
        }
    )
    assert (second.cgroup, second.memory_limit, second.cpus) == (2, 1 << 30, 1.5)
    first = host(
        {
            "/proc/self/cgroup": "4:memory:/docker/ab\n3:cpu,cpuacct:/docker/ab\n",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
            "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
            "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
        },
        without=("/sys/fs/cgroup/cgroup.controllers",),
    )
    assert (first.cgroup, first.memory_limit, first.cpus) == (1, None, 9.0)


@pytest.mark.parametrize(
    ("files", "kills"),
    [
        ({"memory.max": "max", "memory.events": "max 0\noom 0\noom_kill 3\n"}, None),
        ({"memory.max": "1073741824", "memory.events": "max 9\noom 4\noom_kill 4\n"}, 4),
        ({"memory.max": "1073741824", "memory.events": "max 0\noom 0\noom_kill 4\n"}, 0),  # the machine's memory
        ({"memory.max": "1073741824", "memory.events": "max 0\noom 0\noom_kill 0\n"}, 0),
    ],
)
def test_kills_at_the_limit_of_a_cgroup(files: dict[str, str], kills: int | None) -> None:
    there = {f"/sys/fs/cgroup/{name}": text for name, text in files.items()}
    assert host({"/proc/self/cgroup": "0::/\n", **there}).memory_kills == kills


def test_kills_at_the_limit_of_a_cgroup_of_version_1() -> None:
    files: dict[str, str | bytes] = {
        "/proc/self/cgroup": "4:memory:/\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824",
        "/sys/fs/cgroup/memory/memory.failcnt": "17",
        "/sys/fs/cgroup/memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
    }
    without = ("/sys/fs/cgroup/cgroup.controllers",)
    assert host(files, without=without).memory_kills == 2
    del files["/sys/fs/cgroup/memory/memory.oom_control"]
    assert isinstance(host(files, without=without).memory_kills, Unknown)


RELEASE = RecordedMachine({}).release()


@pytest.mark.parametrize(
    ("files", "loads"),
    [
        ({"/sys/module/firmware_class/parameters/path": "\n"}, True),
        ({f"/boot/config-{RELEASE}": "CONFIG_PCI=y\n# CONFIG_FW_LOADER is not set\n"}, False),
        ({f"/lib/modules/{RELEASE}/config": "CONFIG_FW_LOADER=m\n"}, True),
        (
            {f"/boot/config-{RELEASE}": "CONFIG_PCI=y\n"},
            Unknown(f"/boot/config-{RELEASE} does not name CONFIG_FW_LOADER"),
        ),
        ({}, Unknown(f"/boot/config-{RELEASE} cannot be read")),
    ],
)
def test_whether_the_kernel_loads_firmware(files: dict[str, str | bytes], loads: object) -> None:
    assert host(files).kernel.firmware_loader == loads


def test_shm() -> None:
    found = host(
        statuses={"/dev/shm": Status(0o1777, 0, 0, 40, 0, 0, True)}, spaces={"/dev/shm": Space(64 << 20, 60 << 20)}
    ).shm
    assert (found.size, found.free, found.mode, found.writable) == (64 << 20, 60 << 20, "1777", True)
    assert host().shm.size is None


def test_folders_are_judged_by_the_nearest_parent() -> None:
    machine: dict[str, Any] = {
        "env": {"HOME": "/home/ada", "TRITON_CACHE_DIR": "/scratch/triton"},
        "folders": ("/home/ada", "/scratch", "/tmp"),
        "spaces": {"/home/ada": Space(100, 7), "/scratch": Space(100, 9)},
        "errors": {"/scratch": "EACCES"},
    }
    found = {folder.purpose: folder for folder in host(**machine).directories}
    assert found["PyTorch"].path == "/home/ada/.cache/torch"
    assert (found["PyTorch"].free, found["PyTorch"].writable) == (7, True)
    assert (found["Triton"].path, found["Triton"].free, found["Triton"].writable) == ("/scratch/triton", 9, False)
    assert isinstance(found["temporary files"].free, Unknown)


def test_no_home_at_all() -> None:
    found = {folder.purpose: folder for folder in host(ids=(4242, 0, (0,)), folders=("/tmp",)).directories}
    assert found["PyTorch"].path == "~/.cache/torch"
    assert isinstance(found["PyTorch"].writable, Unknown)
    assert host(env={}).directories[0].path == "/home/ada/.cache/torch"  # /etc/passwd stands in


def test_environment_is_what_matters_and_holds_no_secrets() -> None:
    env = {
        "CUDA_VISIBLE_DEVICES": "0",
        "HSA_OVERRIDE_GFX_VERSION": "11.0.0",
        "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
        "TORCH_API_TOKEN": "abc",
        "JAX_URL": "https://user:pass@host/x",
        "HOME": "/root",
        "AWS_SECRET_ACCESS_KEY": "abc",
        "DISPLAY": ":0",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_USER": "jane",
    }
    assert host(env=env).environment == {
        "CUDA_VISIBLE_DEVICES": "0",
        "HSA_OVERRIDE_GFX_VERSION": "11.0.0",
        "JAX_URL": "https://***@host/x",
        "HOME": "/root",
        "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
        "SLURM_JOB_ID": "7",
        "TORCH_API_TOKEN": "***",
    }


def test_shadows_in_the_working_directory() -> None:
    found = host({"/torch.py": "", "/numpy/__init__.py": "", "/jax/notes.txt": ""}).working_directory_shadows
    assert found == ("torch.py", "numpy/")


def test_a_machine_that_shows_nothing() -> None:
    found = probe(RecordedMachine())
    for fact in (found.memory, found.cpus, found.cgroup, found.hostname, found.product, found.distribution.id):
        assert isinstance(fact, Unknown)
    assert isinstance(
        probe(RecordedMachine(commands={"mokutil": ChildResult(argv=(), code=1)})).kernel.secure_boot, Unknown
    )
