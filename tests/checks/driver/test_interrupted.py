"""An installation of the driver that dpkg began and did not finish."""

from gpudoctor import catalogue
from gpudoctor.check_engine import judge
from gpudoctor.facts import Dkms
from gpudoctor.queries.driver import OFF_PATH
from tests.builders import change, library
from tests.checks.driver.test_loading import NO_MODULE
from tests.checks.nvidia_machines import having

FOLDER = "/usr/lib/x86_64-linux-gnu/nvidia/current"


def test_dpkg_finishes_what_it_began_before_the_module_is_built_by_hand() -> None:
    (check,) = catalogue.load(["driver.no-module-for-kernel"])
    entry = Dkms(module="nvidia-current", version="535.309.01", state="added")
    packages = (("nvidia-driver", "535.309.01-1", "iU"), ("nvidia-kernel-dkms", "535.309.01-1", "iF"))
    facts = having(
        change(NO_MODULE, "host.distribution.id", "debian"),
        nvidia__kernel__packages=packages,
        nvidia__kernel__dkms=(entry,),
    )
    ((_, problem),) = [(one.check.id, one.message) for one in judge(facts, [check])]
    assert problem.endswith("dpkg began to install nvidia-driver, nvidia-kernel-dkms, and did not finish.")
    first = check.fixes_for(facts)[0]
    assert first.commands == ("sudo dpkg --configure -a", "sudo apt-get --fix-broken install", "sudo modprobe nvidia")


def test_libraries_that_no_loader_finds_yet_and_no_module_are_no_working_driver() -> None:
    (check,) = catalogue.load(["driver.no-module-for-kernel"])
    file = f"{FOLDER}/libnvidia-ml.so.535.309.01"
    unlinked = library("libnvidia-ml.so.1", "535.309.01", real=file, found_by=OFF_PATH)
    begun = ("libnvidia-ml1", "nvidia-alternative", "nvidia-driver-libs", "nvidia-kernel-support", "nvidia-smi")
    facts = having(
        change(NO_MODULE, "host.distribution.id", "debian"),
        nvidia__kernel__packages=tuple((name, "535.309.01-0+deb12u1", "iU") for name in begun),
        nvidia__kernel__dkms=(),
        nvidia__nvml__libraries=(unlinked,),
        nvidia__cuda__libraries=(),
    )
    ((_, problem),) = [(one.check.id, one.message) for one in judge(facts, [check])]
    assert "libraries 535.309.01 are installed" in problem
    assert "dpkg began to install libnvidia-ml1, nvidia-alternative, nvidia-driver-libs and 2 more packages" in problem
    commands = check.fixes_for(facts)[0].commands
    assert commands[1:3] == ("sudo dpkg --configure -a", "sudo apt-get --fix-broken install")
    assert "nvidia-driver" in commands[3]


def test_libraries_of_the_gpu_operator_are_no_driver_of_the_host() -> None:
    (check,) = catalogue.load(["driver.no-module-for-kernel"])
    file = "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.570.169"
    facts = having(
        NO_MODULE,
        nvidia__kernel__dkms=(),
        nvidia__nvml__libraries=(library("libnvidia-ml.so.1", "570.169", real=file, found_by=OFF_PATH),),
        nvidia__cuda__libraries=(),
    )
    assert [one for one in judge(facts, [check]) if one.message] == []
