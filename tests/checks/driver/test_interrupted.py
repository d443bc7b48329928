"""An installation of the driver that dpkg began and did not finish."""

from gpudoctor import catalogue
from gpudoctor.check_engine import judge
from gpudoctor.facts import Dkms
from tests.builders import change
from tests.checks.driver.test_loading import NO_MODULE
from tests.checks.nvidia_machines import having


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
