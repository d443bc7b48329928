"""Why a module was not built, by the first error of the log, and what is advised then."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Problem, judge
from gpudoctor.facts import Distribution, Facts
from gpudoctor.root_causes import findings
from tests.builders import FEDORA, UBUNTU, ask
from tests.checks.driver.test_loading import GTX970
from tests.checks.nvidia_machines import KERNEL, OTHER, disk, entry, having, unloaded

REALTIME = "6.8.1-1015-realtime"
BUILD = f"sudo dkms install nvidia/570.169 -k {KERNEL}"
BOOT_OTHER = (f"sudo grub-reboot 'Advanced options for Ubuntu>Ubuntu, with Linux {OTHER}'", "sudo reboot")
FAILED = (
    "make[3]: *** [scripts/Makefile.build:243: nv.o] Error 1",
    "make: *** [Makefile:115: modules] Error 2",
)


def failed(*lines: str, **changes: object) -> Facts:
    """A machine without a module, whose build left these lines."""
    plain = {
        "nvidia__kernel__on_disk": (),
        "nvidia__kernel__dkms": (entry(),),
        "nvidia__kernel__dkms_errors": (*lines, *FAILED),
        "host__kernel__headers": True,
    }
    return having(unloaded(), **(plain | changes))


def found(facts: Facts) -> tuple[Problem, list[tuple[str, ...]]]:
    """The problem, and the commands of each fix."""
    one = catalogue.load(["driver.dkms-build-failed"])[0]
    problem = one(facts)
    assert isinstance(problem, Problem)
    return problem, [fix.commands for fix in one.fixes_for(facts)]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("make[1]: clang: No such file or directory", "clang lld llvm"),
        ("/bin/sh: 1: gcc-13: not found", "gcc-13"),
        ("make[2]: x86_64-linux-gnu-gcc-12: No such file or directory", "gcc-12"),
        ("make: cc: Command not found", "build-essential"),
        ("/bin/sh: line 1: g++: command not found", "g++"),
        ("error: Cannot generate ORC metadata for CONFIG_UNWINDER_ORC=y, please install libelf-dev", "libelf-dev"),
        ("sh: line 1: bison: command not found", "bison"),
    ],
)
def test_what_is_missing_is_installed(line: str, names: str) -> None:
    problem, commands = found(failed(line))
    assert "which is not installed" in problem.message
    assert line in problem.evidence
    assert commands == [(f"sudo apt-get install {names}", BUILD, "sudo modprobe nvidia")]


def test_a_full_disk_that_stopped_a_package_in_its_configuration() -> None:
    half = (("nvidia-dkms-570", "570.169-0ubuntu1", "iF"),)
    _, commands = found(failed("cp: error writing 'nv.o': No space left on device", nvidia__kernel__packages=half))
    assert commands[0][1:3] == ("sudo dpkg --configure -a", "sudo apt-get --fix-broken install")


def test_a_build_that_was_interrupted_is_done_again() -> None:
    half = (("nvidia-kernel-dkms", "535.309.01-1", "iF"),)
    lines = ("make: *** [Makefile:137: modules] Terminated", "make[3]: *** Deleting file '/var/lib/dkms/x.part'")
    facts = having(failed(), nvidia__kernel__dkms_errors=lines, nvidia__kernel__packages=half)
    problem, commands = found(facts)
    assert "was interrupted" in (problem.cause or "")
    assert commands == [
        ("sudo dpkg --configure -a", "sudo apt-get --fix-broken install", BUILD, "sudo modprobe nvidia"),
    ]


def test_an_older_kernel_that_is_installed_is_named() -> None:
    line = "nvidia/nv-mmap.c:400:20: error: implicit declaration of function 'follow_pfn'"
    older = {"nvidia__kernel__other_kernels": (), "host__kernel__others": ("6.5.0-14-generic",)}
    fixes = catalogue.load(["driver.dkms-build-failed"])[0].fixes_for(failed(line, **older))
    boot = next(fix for fix in fixes if "6.5.0-14-generic" in fix.message)
    assert boot.commands[-1] == "sudo reboot"
    assert f"remove the packages of kernel {KERNEL}" in boot.message


def test_the_first_error_decides() -> None:
    later = "nvidia/nv.c:12:9: error: implicit declaration of function 'strlcpy'"
    problem, _ = found(failed("/tmp/cc1.s: No space left on device", later))
    assert problem.cause == "The build ran out of disk space (No space left on device)."
    problem, _ = found(failed(later, "/tmp/cc1.s: No space left on device"))
    assert problem.cause == (
        f"The source of 570.169 does not compile against kernel {KERNEL}: the driver branch is older than the kernel."
    )


def test_the_tests_of_the_kernel_fail_with_a_newer_compiler() -> None:
    problem, _ = found(failed("./common/inc/nv-mm.h:29:13: error: conflicting types for 'vm_fault_t'; have 'int'"))
    assert "conftest" in (problem.cause or "")
    assert "GCC 15" in (problem.cause or "")


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("cp: error writing 'nv.o': No space left on device", "df -h /var /tmp /lib/modules /boot"),
        ("gcc: fatal error: Killed signal terminated program cc1", "free -h"),
        (
            "Error! Your kernel headers for kernel 6.8.0-60-generic cannot be found at /lib/modules",
            f"sudo apt-get install linux-headers-{KERNEL}",
        ),
        ("include/linux/sched.h:5:10: fatal error: generated/bounds.h: No such file or directory", None),
    ],
)
def test_room_and_headers(line: str, first: str | None) -> None:
    _, commands = found(failed(line))
    assert commands[0][0] == (first or f"sudo apt-get install linux-headers-{KERNEL}")
    assert commands[0][-2:] == (BUILD, "sudo modprobe nvidia")


def test_a_real_time_kernel_is_refused_by_design() -> None:
    line = "*** Failed PREEMPT_RT sanity check. Bailing out! ***"
    there = (disk(kernel=OTHER), disk(kernel="6.8.1-1014-realtime"))
    facts = failed(line, host__kernel__release=REALTIME, nvidia__kernel__other_kernels=there)
    one = catalogue.load(["driver.dkms-build-failed"])[0]
    problem, _ = found(facts)
    assert problem.cause is not None
    assert "PREEMPT_RT" in problem.cause
    standard, anyway = one.fixes_for(facts)
    assert standard.message.startswith(f"Boot kernel {OTHER}, which has the module")
    assert standard.commands[0] == f"sudo grub-reboot 'Advanced options for Ubuntu>Ubuntu, with Linux {OTHER}'"
    assert anyway.commands[0].endswith(f"dkms install nvidia/570.169 -k {REALTIME}")
    assert "IGNORE_PREEMPT_RT_PRESENCE=1" in anyway.commands[0]
    alone = one.fixes_for(having(facts, nvidia__kernel__other_kernels=()))[0]
    assert alone.commands == ("sudo apt-get install linux-generic",)
    akmods = having(facts, nvidia__kernel__akmods_log="/var/cache/akmods/x.log", nvidia__kernel__dkms=None)
    assert len(one.fixes_for(having(akmods, host__distribution=FEDORA))) == 1


GPL = "FATAL: modpost: GPL-incompatible module nvidia.ko uses GPL-only symbol '__rcu_read_lock'"


def test_a_gpl_only_symbol_is_open_to_the_open_modules() -> None:
    problem, commands = found(failed(GPL))
    assert problem.cause is not None
    assert "__rcu_read_lock" in problem.cause
    assert "GPL" in problem.cause
    assert GPL in problem.evidence
    assert commands[0] == ("sudo apt-get update", "sudo apt-get install nvidia-driver-570-open")


def test_before_turing_there_is_no_open_module() -> None:
    _, commands = found(failed(GPL, **GTX970))
    assert "nvidia-driver-580" in commands[0][-1]
    assert commands[-1] == ()


def test_a_log_without_a_known_line_blames_nothing() -> None:
    facts = failed(host__distribution=UBUNTU)
    problem, commands = found(facts)
    assert problem.cause is None
    assert commands[-1] == ()


LLD = "/usr/bin/ld.bfd: nvidia/nv.o: file not recognized: file format not recognized"


def test_bitcode_needs_the_linker_of_the_kernel() -> None:
    facts = failed(LLD, nvidia__kernel__other_kernels=(disk(kernel=OTHER),))
    problem, commands = found(facts)
    assert problem.evidence[0] == LLD
    assert problem.cause is not None
    assert "built with clang and LTO" in problem.cause
    assert "ld.bfd cannot link" in problem.cause
    conf = "/usr/src/nvidia-570.169/dkms.conf"
    rebuild = (
        "sudo apt-get install clang lld llvm",
        f"sudo sed -i.orig -E 's# LD=[^ ]+##' {conf}",
        BUILD,
        "sudo modprobe nvidia",
    )
    assert commands == [BOOT_OTHER, rebuild]  # the other kernel first, which has the module
    assert found(failed(LLD, nvidia__kernel__other_kernels=()))[1] == [rebuild]


CRASH = "../common/nvswitch/kernel/ls10/flcn_ls10.c:271:1: internal compiler error: Segmentation fault"


@pytest.mark.parametrize(
    ("identity", "first"),
    [
        ("arch", ("sudo pacman -Syu linux nvidia-open", "sudo reboot")),
        ("ubuntu", ("sudo apt-get install gcc-11",)),
    ],
)
def test_a_compiler_that_crashes_is_at_fault_itself(identity: str, first: tuple[str, ...]) -> None:
    facts = failed(CRASH, host__kernel__compiler="gcc 12.3.0", nvidia__kernel__other_kernels=())
    facts = having(facts, host__distribution__id=identity, host__distribution__like=())
    problem, commands = found(facts)
    assert problem.cause is not None
    assert problem.cause.startswith("The compiler itself crashed on flcn_ls10.c (internal compiler error)")
    assert commands[0][: len(first)] == first
    makefile = "/usr/src/nvidia-570.169/src/nvidia/Makefile"
    flags = "'1i CFLAGS += -fno-schedule-insns2 -fno-schedule-insns'"
    assert any(fix[0] == f"sudo sed -i.orig {flags} {makefile}" for fix in commands)


def test_a_kernel_with_the_module_comes_before_other_compilers() -> None:
    assert found(failed(CRASH, nvidia__kernel__other_kernels=(disk(kernel=OTHER),)))[1][0] == BOOT_OTHER


def test_a_compiler_without_memory_did_not_crash() -> None:
    problem, _ = found(failed("gcc: internal compiler error: Killed signal terminated program cc1"))
    assert "too little free memory" in (problem.cause or "")


def test_build_tools_of_another_architecture_are_replaced() -> None:
    line = (
        "ERROR: modpost: /var/lib/dkms/nvidia/575.51.03/build/nvidia: sizeof(struct of_device_id)=196 is not a modulo "
        "of the size of section __mod_of__<identifier>_device_table=400."
    )
    problem, commands = found(failed(line))
    assert "linux-kbuild for i386" in (problem.cause or "")
    assert commands[0][1] == "sudo apt-get install $(dpkg-query -W -f='${Package}:amd64 ' 'linux-kbuild-*:i386')"


def test_a_source_that_dkms_lost_is_built_by_dkms_of_any_package() -> None:
    lost = having(
        unloaded(),
        nvidia__kernel__on_disk=(),
        nvidia__kernel__dkms=(),
        nvidia__kernel__dkms_unlisted=("nvidia/550.1", "nvidia/570.169"),
        host__distribution=FEDORA,
        host__kernel__headers=True,
    )
    one = catalogue.load(["driver.no-module-for-kernel"])[0]
    problem = one(lost)
    assert isinstance(problem, Problem)
    assert problem.message.endswith("DKMS does not list nvidia/570.169, whose source is in /usr/src.")
    assert [fix.commands for fix in one.fixes_for(lost)] == [(BUILD, "sudo modprobe nvidia")]
    other = having(lost, nvidia__kernel__dkms_unlisted=("nvidia/550.1",))
    assert "akmod" in "".join(line for fix in one.fixes_for(other) for line in fix.commands)


VMA = "nvidia/nv-mmap.c:868:24: error: 'VMA_LOCK_OFFSET' undeclared (first use in this function)"


@pytest.mark.parametrize(
    ("release", "kernel", "identity", "package", "upgrade"),
    [
        ("580.126.09", "7.0.4", "ubuntu", "nvidia-dkms-580", "sudo apt-get install --only-upgrade nvidia-dkms-580"),
        ("580.142", "7.1.0", "cachyos", "nvidia-580xx-dkms", "sudo pacman -Syu"),
        ("580.142", "7.1.0", "arch", "nvidia-580xx-dkms", "yay -Syu"),
        ("580.142", "7.1.0", "fedora", "xorg-x11-drv-nvidia-580xx-cuda", "sudo dnf upgrade --refresh '*nvidia*'"),
        ("570.153.02", "6.15.2", "debian", "nvidia-dkms", "sudo apt-get install --only-upgrade nvidia-dkms"),
    ],
)
def test_a_later_release_of_the_branch_compiles(
    release: str, kernel: str, identity: str, package: str, upgrade: str
) -> None:
    facts = failed(
        VMA, host__kernel__release=kernel, nvidia__kernel__dkms=(entry(release, kernel=None, state="added"),)
    )
    facts = having(facts, host__distribution__id=identity, host__distribution__like=(), **GTX970)
    facts = having(facts, nvidia__kernel__packages=((package, release, "installed"),))
    fix = catalogue.load(["driver.dkms-build-failed"])[0].fixes_for(facts)[0]
    assert " or newer, which compiles against kernel " in fix.message
    assert upgrade in fix.commands


def test_no_newer_branch_is_advised_before_one_is_known_to_compile() -> None:
    facts = failed(VMA, host__kernel__release="7.1.3", nvidia__kernel__dkms=(entry("595.58.03", kernel="7.0.9"),))
    facts = having(facts, nvidia__kernel__packages=(("nvidia-dkms-595-open", "595.58.03", "installed"),))
    older, later = catalogue.load(["driver.dkms-build-failed"])[0].fixes_for(facts)
    assert older.message.startswith("Boot ")
    assert later.message == (
        "Upgrade, once there is a release newer than 595.58.03 that compiles against kernel 7.1; then reboot."
    )


def test_debian_gets_the_newer_branch_of_nvidia() -> None:
    facts = failed(VMA, host__kernel__release="6.17.13+deb13-amd64", nvidia__kernel__dkms=(entry("550.163.01"),))
    facts = having(facts, host__distribution__id="debian", host__distribution__version="13")
    fix = catalogue.load(["driver.dkms-build-failed"])[0].fixes_for(facts)[0]
    assert "so it comes from NVIDIA's repository" in fix.message
    assert "sudo apt-get install nvidia-driver-pinning-595" in fix.commands  # which has none before 590
    pascal = having(facts, pci__0__generation="Pascal")
    fix = catalogue.load(["driver.dkms-build-failed"])[0].fixes_for(pascal)[0]
    assert "download the newest 580 installer" in fix.message


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (having(unloaded(nvidia__kernel__on_disk=()), host__kernel__release=REALTIME), "problem"),
        (having(unloaded(nvidia__kernel__on_disk=()), host__kernel__release="6.1.0-57-rt-amd64"), "problem"),
        (having(unloaded(nvidia__kernel__on_disk=()), host__kernel__release=KERNEL), "pass"),
        (having(unloaded(), host__kernel__release=REALTIME), "pass"),  # somebody built it
        (having(host__kernel__release=REALTIME), "pass"),
        (
            unloaded(
                nvidia__kernel__on_disk=(),
                nvidia__kernel__dkms=None,
                nvidia__nvml__libraries=(),
                nvidia__cuda__libraries=(),
                host__kernel__release=REALTIME,
            ),
            "pass",
        ),
    ],
)
def test_no_module_is_built_for_a_real_time_kernel(facts: Facts, outcome: str) -> None:
    ids = ["driver.realtime-kernel", "driver.headers-missing", "driver.built-for-another-kernel"]
    assert [verdict for verdict, _ in ask(catalogue.load(ids[:1])[0], facts)] == [outcome]
    if outcome == "problem":
        facts = having(facts, nvidia__kernel__other_kernels=(disk(kernel=OTHER),), host__kernel__headers=False)
        (finding,) = findings(judge(facts, catalogue.load(ids)))[0]
        assert finding.root.check.id == "driver.realtime-kernel"


def test_where_debians_open_modules_do_not_compile_its_proprietary_ones_may() -> None:
    packages = (("nvidia-open-kernel-dkms", "550.163.01-2", "iF"), ("nvidia-driver", "550.163.01-2", "iU"))
    facts = failed(
        "nvidia/nv-pci.c:237:9: error: too few arguments to function 'pci_resize_resource'",
        host__distribution=Distribution(id="debian", like=(), version="13", name="Debian GNU/Linux 13 (trixie)"),
        nvidia__kernel__packages=packages,
    )
    # Without `dpkg --configure -a` before it, which would only build the open ones again.
    assert found(facts)[1][0] == ("sudo apt-get install nvidia-kernel-dkms nvidia-open-kernel-dkms-",)


def test_a_kernel_that_has_the_module_comes_before_a_driver_of_another_source() -> None:
    debian = Distribution(id="debian", like=(), version="13", name="Debian GNU/Linux 13 (trixie)")
    facts = failed(
        "nv-mm.h:315:25: error: 'struct vm_area_struct' has no member named '__vm_flags'",
        host__distribution=debian,
        nvidia__kernel__dkms=(entry(version="550.163.01"),),
        nvidia__kernel__other_kernels=(disk(kernel=OTHER),),
    )
    commands = found(facts)[1]
    assert commands[0][0].startswith("sudo grub-reboot")
    assert commands[1][-1].endswith("nvidia-open")
    gone = having(facts, host__kernel__others=())  # whose image was removed
    assert not any("grub-reboot" in command for command in found(gone)[1][0])


def test_nouveau_lets_go_of_the_gpu_at_a_reboot() -> None:
    bound = having(failed("cc: not found"), pci__0__driver="nouveau")
    assert found(bound)[1][0][-1] == "sudo reboot"
