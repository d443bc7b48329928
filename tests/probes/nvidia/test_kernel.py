"""Tests of the probe of NVIDIA's kernel driver."""

from gpudoctor.facts import Host, Kernel, NvidiaKernel, PciDevice
from gpudoctor.machine import Status
from gpudoctor.maybe import Unknown
from gpudoctor.probes.nvidia import kernel
from gpudoctor.recorded_machine import RecordedMachine

RELEASE = "6.8.0-60-generic"
LIB = "/usr/lib/x86_64-linux-gnu"
NODE = Status(0o666, 0, 0, 0, 195, 0, False)
CARD = PciDevice(address="0000:01:00.0", vendor="10de", device="2684", class_code="030000", driver="nvidia")
UNBOUND = PciDevice(address="0000:01:00.0", vendor="10de", device="2684", class_code="030000", driver=None)
BARE = Host(container=None, wsl=None, virtual=None, platform="bare", kernel=Kernel(release=RELEASE, command_line=""))
PROC = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build  (dvs-builder@U22)\n"
    "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"
)
MODINFO = (
    f"filename:       /lib/modules/{RELEASE}/updates/dkms/nvidia.ko.zst\nversion:        570.133.20\n"
    f"license:        Dual MIT/GPL\nvermagic:       {RELEASE} SMP preempt mod_unload modversions\n"
    "sig_id:         PKCS#7\nsigner:         host Secure Boot Module Signature key\n"
)
HEALTHY = {
    "/proc/driver/nvidia/version": PROC,
    "/proc/driver/nvidia/params": 'EnableMSI: 1\nRegistryDwords: ""\n',
    "/proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t NVIDIA GeForce RTX 4090\nDevice Minor: \t 0\n",
    "/proc/modules": "nvidia_uvm 20 0 - Live 0x0\nnvidia 11583488 80 nvidia_uvm, Live 0x0\next4 9830 1 - Live 0x0\n",
    "/proc/devices": "Character devices:\n  1 mem\n195 nvidia\n507 nvidia-uvm\n\nBlock devices:\n259 blkext\n",
    f"/lib/modules/{RELEASE}/updates/dkms/nvidia.ko.zst": "",
    f"{LIB}/libcuda.so.570.133.20": "",
}
LINKS = {f"{LIB}/libcuda.so.1": "libcuda.so.570.133.20"}
NODES = {"/dev/nvidia0": NODE, "/dev/nvidiactl": NODE}


def look(machine: RecordedMachine, host: Host = BARE, cards: tuple[PciDevice, ...] = (CARD,)) -> NvidiaKernel:
    return kernel.probe(machine, host, cards)


def test_a_healthy_machine_is_read_from_files_and_modinfo() -> None:
    machine = RecordedMachine(
        {**HEALTHY, "/usr/bin/nvidia-smi": ""},
        links=LINKS,
        statuses=NODES,
        commands={"modinfo": MODINFO, "dpkg-query": "x 1 ii"},
    )
    seen = look(machine)
    assert (seen.loaded, seen.flavor) == ("570.133.20", "open")
    assert seen.modules == ("nvidia", "nvidia_uvm")
    assert not isinstance(seen.on_disk, Unknown)
    module = seen.on_disk[0]
    assert (module.version, module.flavor, module.vermagic) == ("570.133.20", "open", RELEASE)
    assert module.signer == "host Secure Boot Module Signature key"
    assert seen.gpus == ("0000:01:00.0",)
    assert seen.uvm_major == 507
    assert seen.parameters == {"EnableMSI": "1", "RegistryDwords": ""}
    assert seen.installer == "package"
    assert seen.dkms is None
    assert isinstance(seen.packages, Unknown)
    assert machine.ran == [f"modinfo /lib/modules/{RELEASE}/updates/dkms/nvidia.ko.zst"]


def test_nothing_is_run_on_a_machine_without_nvidia() -> None:
    machine = RecordedMachine({"/proc/modules": "amdgpu 1 0 - Live 0x0\n"}, commands={"modinfo": MODINFO, "dkms": ""})
    seen = look(machine, cards=())
    assert machine.ran == []
    assert (seen.loaded, seen.modules, seen.nodes) == (None, ("amdgpu",), ())
    assert isinstance(seen.on_disk, Unknown)


def test_a_module_that_is_not_loaded_is_none_and_its_packages_are_asked_for() -> None:
    commands = {"modinfo": MODINFO, "dpkg-query": "nvidia-driver-570 570.133.20-0ubuntu1 iU \n"}
    seen = look(RecordedMachine({"/proc/modules": "nouveau 1 0 - Live 0x0\n"}, commands=commands), cards=(UNBOUND,))
    assert (seen.loaded, seen.flavor, seen.modules, seen.gpus) == (None, None, ("nouveau",), ())
    assert seen.packages == (("nvidia-driver-570", "570.133.20-0ubuntu1", "iU"),)


def test_a_closed_or_strange_version_file_is_unknown() -> None:
    path = "/proc/driver/nvidia/version"
    closed = look(RecordedMachine({"/proc/modules": ""}, errors={path: "EACCES"}))
    assert closed.loaded == Unknown(f"{path}: Permission denied")
    strange = look(RecordedMachine({"/proc/modules": "", path: "hello\n"}))
    assert strange.loaded == Unknown(f"{path} contains no driver version: 'hello\\n'")


def test_without_proc_modules_nobody_knows_whether_the_module_is_loaded() -> None:
    seen = look(RecordedMachine())
    assert seen.loaded == Unknown("/proc/modules: No such file or directory")


def test_sysfs_gives_the_version_where_proc_is_hidden() -> None:
    files = {"/sys/module/nvidia/version": "550.54.14\n", "/proc/modules": "nvidia 1 0 - Live 0x0\n"}
    seen = look(RecordedMachine(files))
    assert seen.loaded == "550.54.14"
    assert isinstance(seen.flavor, Unknown)


def test_a_container_does_not_deny_what_only_its_host_knows() -> None:
    host = Host(container="docker", wsl=None, virtual=None, kernel=Kernel(release=RELEASE))
    machine = RecordedMachine({"/proc/driver/nvidia/version": PROC}, commands={"dkms": "nvidia/1, x: added"})
    seen = look(machine, host)
    why = Unknown("the host's: not visible from the container")
    assert (seen.on_disk, seen.other_kernels, seen.dkms, seen.packages, seen.fabric_manager) == (why,) * 5
    assert machine.ran == []


def test_a_driver_container_shows_the_modules_mounted_into_it() -> None:
    host = Host(container="kubernetes", wsl=None, virtual=None, kernel=Kernel(release=RELEASE))
    path = f"/lib/modules/{RELEASE}/kernel/drivers/video/nvidia.ko"
    files = {path: "", "/var/log/nvidia-installer.log": "", "/proc/modules": ""}
    seen = look(RecordedMachine(files, commands={"modinfo": MODINFO}), host)
    assert not isinstance(seen.on_disk, Unknown)
    assert [module.path for module in seen.on_disk] == [path]
    assert seen.installer == "runfile"


def test_wsl_has_no_module_by_design_and_its_packages_are_looked_at() -> None:
    host = Host(container=None, wsl=2, virtual="microsoft", platform="wsl", kernel=Kernel(release=RELEASE))
    machine = RecordedMachine(
        statuses={"/dev/dxg": NODE},
        commands={"dpkg-query": "nvidia-utils-510\t510.60.02-0ubuntu1\n", "modinfo": MODINFO},
    )
    seen = look(machine, host, ())
    assert (seen.loaded, seen.on_disk, seen.other_kernels, seen.dkms) == (None, (), (), None)
    assert seen.packages == (("nvidia-utils-510", "510.60.02-0ubuntu1", "ii"),)
    assert machine.ran == ["dpkg-query -W -f=${Package} ${Version} ${db:Status-Abbrev}\n *nvidia* libcuda* libnvcuvid* "
                           "cuda-drivers* cuda-compat*"]  # fmt: skip


def test_the_run_installer_is_known_by_its_uninstaller() -> None:
    files = {"/usr/bin/nvidia-uninstall": "", "/proc/modules": ""}
    assert look(RecordedMachine(files, env={"PATH": "/usr/bin"})).installer == "runfile"


def test_no_trace_of_an_installation_is_none() -> None:
    assert look(RecordedMachine({"/proc/modules": ""}, commands={"dpkg-query": ""})).installer is None
