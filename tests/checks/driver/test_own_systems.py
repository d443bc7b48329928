"""Systems that install NVIDIA's driver in a way of their own: what is typed there, and nothing of apt, dnf or DKMS."""

from typing import Any

import pytest

from gpudoctor.facts import Distribution, Facts
from gpudoctor.fixes import own_system, system
from gpudoctor.fixes.driver import install_driver
from gpudoctor.tasks.as_typed import typed
from tests.checks.driver.test_fixes import fixes
from tests.checks.nvidia_machines import disk, entry, having, unloaded

GENTOO = Distribution(id="gentoo", like=(), version=None, codename=None, name="Gentoo Linux")
VOID = Distribution(id="void", like=(), version=None, codename=None, name="Void Linux")
TRUENAS = Distribution(id="debian", like=(), version="12", codename="bookworm", name="TrueNAS SCALE 25.10.0")
UNRAID = Distribution(id="slackware", like=(), version="15.0", codename=None, name="Unraid OS 7.1")
SYSTEMS: dict[str, dict[str, Any]] = {
    "gentoo": {"host__distribution": GENTOO, "host__kernel__release": "6.12.41-gentoo-dist"},
    "void": {"host__distribution": VOID, "host__kernel__release": "6.12.41_1"},
    "truenas": {"host__distribution": TRUENAS, "host__kernel__release": "6.12.33-production+truenas"},
    "unraid": {"host__distribution": UNRAID, "host__kernel__release": "6.12.24-Unraid"},
}
PASCAL: dict[str, Any] = {
    "pci__0__generation": "Pascal",
    "nvidia__kernel__on_disk": (disk("595.58.03", flavor="open"),),
}


def on(name: str, **changes: Any) -> Facts:
    """A machine of one of these systems whose module is not loaded."""
    return unloaded(**SYSTEMS[name] | changes)


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("gentoo", "/etc/portage/package.use/nvidia-drivers", "sudo emerge --ask x11-drivers/nvidia-drivers"),
        ("void", "sudo xbps-install -S linux6.12-headers void-repo-nonfree", "sudo xbps-install -S nvidia"),
        ("truenas", "docker.update", "sudo midclt call -j docker.update '{\"nvidia\":true}'"),
    ],
)
def test_the_driver_is_installed_as_the_system_does(name: str, first: str, last: str) -> None:
    commands = install_driver(on(name)).commands
    assert first in commands[0]
    assert commands[-2:] == (last, "sudo reboot")


def test_what_is_done_without_commands_is_told() -> None:
    fix = install_driver(on("unraid"))
    assert (fix.commands, "Plugins > Nvidia Driver" in fix.message) == ((), True)


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("gentoo", ("sudo emerge --ask @module-rebuild", "sudo reboot")),
        ("void", ("sudo xbps-install -S linux6.12-headers", "sudo xbps-reconfigure -f linux6.12", "sudo reboot")),
    ],
)
def test_the_module_is_built_as_the_system_does(name: str, commands: tuple[str, ...]) -> None:
    other = disk(kernel="6.12.30", path="/lib/modules/6.12.30/video/nvidia.ko")
    ill = on(name, nvidia__kernel__on_disk=(), nvidia__kernel__other_kernels=(other,), nvidia__kernel__dkms=None)
    assert fixes("driver.built-for-another-kernel", ill)[0].commands == commands


def test_voids_headers_are_of_the_kernels_series() -> None:
    ill = on("void", nvidia__kernel__on_disk=(), nvidia__kernel__dkms=(entry(),), host__kernel__headers=False)
    commands = fixes("driver.headers-missing", ill)[0].commands
    assert commands[:2] == ("sudo xbps-install -S linux6.12-headers", "sudo xbps-reconfigure -f linux6.12")


def test_gentoo_keeps_newer_branches_away_from_an_old_card() -> None:
    masked, used, *rest = fixes("driver.gpu-dropped", on("gentoo", **PASCAL))[0].commands
    assert ">=x11-drivers/nvidia-drivers-581" in masked
    assert "x11-drivers/nvidia-drivers -kernel-open" in used
    assert rest == ["sudo emerge --ask x11-drivers/nvidia-drivers", "sudo reboot"]


@pytest.mark.parametrize(
    ("name", "words"),
    [("truenas", "TrueNAS 25.04"), ("unraid", "a release of the last branch")],
)
def test_where_the_system_has_no_driver_for_an_old_card(name: str, words: str) -> None:
    fix = fixes("driver.gpu-dropped", on(name, **PASCAL))[0]
    assert (fix.commands, words in fix.message) == ((), True)


def test_void_has_older_branches() -> None:
    kepler = on("void", pci__0__generation="Kepler", nvidia__kernel__on_disk=(disk("570.169"),))
    assert fixes("driver.gpu-dropped", kepler)[0].commands[-2] == "sudo xbps-install -S nvidia470"
    assert fixes("driver.gpu-dropped", on("void", **PASCAL))[0].commands[-2] == "sudo xbps-install -S nvidia580"


def test_truenas_has_no_apt_and_its_containers_do() -> None:
    assert typed(system.install(on("truenas"), "gcc")) == ()
    inside = having(**SYSTEMS["truenas"], host__container="docker")
    assert typed(system.install(inside, "gcc")) == ("sudo apt-get install gcc",)
    debian = having(host__distribution=TRUENAS, host__kernel__release="6.1.0-40-amd64")
    assert typed(system.install(debian, "gcc")) == ("sudo apt-get install gcc",)


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("void", ("sudo xbps-install -Su",)),
        ("gentoo", ("sudo emerge --sync", "sudo emerge --ask --update x11-drivers/nvidia-drivers")),
        ("truenas", ()),
    ],
)
def test_the_driver_is_upgraded_as_the_system_does(name: str, commands: tuple[str, ...]) -> None:
    assert typed(own_system.upgrade(on(name))) == commands
