"""Headers that apt cannot install: of another release, or of no package source."""

import pytest

from gpudoctor import catalogue
from gpudoctor.facts import DiskModule, Distribution
from tests.builders import ask
from tests.checks.driver.test_fixes import BOOKWORM, fixes
from tests.checks.nvidia_machines import disk, entry, unloaded


@pytest.mark.parametrize(
    ("kernel", "order"),
    [
        ("6.12.117+deb13-amd64", ["grub-reboot", "linux-headers-6.12.117+deb13-amd64"]),
        ("6.12.95+deb12-amd64", ["linux-headers-6.12.95+deb12-amd64", "grub-reboot"]),
    ],
)
def test_the_headers_of_another_debian_release_cannot_be_installed(kernel: str, order: list[str]) -> None:
    bookworm = Distribution(id="debian", version="12", name="Debian GNU/Linux 12 (bookworm)")
    ill = unloaded(
        host__distribution=bookworm, host__kernel__release=kernel, host__kernel__headers=False,
        nvidia__kernel__on_disk=(),
        nvidia__kernel__other_kernels=(disk(kernel="6.1.0-57-amd64"),), nvidia__kernel__dkms=(entry(),),
    )  # fmt: skip
    found = [" ".join(commands) for commands in (one.commands for one in fixes("driver.headers-missing", ill))]
    assert [word in text for word, text in zip(order, found, strict=True)] == [True] * len(order)
    of_trixie = "deb13" in kernel
    assert of_trixie is ("that release's libraries" in fixes("driver.headers-missing", ill)[0].message)


@pytest.mark.parametrize("there", [(), (disk(kernel="6.1.0-57-amd64"),)])
def test_headers_that_no_package_source_has_are_not_installed_from_one(there: tuple[DiskModule, ...]) -> None:
    ill = unloaded(
        host__distribution=BOOKWORM, host__kernel__release="6.6.70-tuned", host__kernel__headers=False,
        nvidia__kernel__on_disk=(), nvidia__kernel__other_kernels=there, nvidia__kernel__dkms=(entry(),),
        nvidia__kernel__headers_offered=False,
    )  # fmt: skip
    assert "No package source here has them." in ask(catalogue.load(["driver.headers-missing"])[0], ill)[0][1]
    found = fixes("driver.headers-missing", ill)
    assert not [line for fix in found for line in fix.commands if "linux-headers-6.6.70" in line]
    assert ("grub-reboot" in found[0].commands[0]) is bool(there)
    assert "linux-headers-6.6.70-tuned" in found[-1].message
