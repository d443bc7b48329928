"""A limit of GTT memory that is in force for no module, or did not reach the one in use."""

from typing import Any

import pytest

from gpudoctor.checks.rocm.ttm_limit_not_in_effect import ttm_limit_not_in_effect
from gpudoctor.facts import Distribution, Facts
from gpudoctor.maybe import Unknown
from tests.builders import FEDORA, ask, change
from tests.checks.amd_machines import IGPU, RADEON, amd_host
from tests.checks.environments import commands

GIB = 1 << 30
WHY = Unknown("not to be read")
PASS, UNKNOWN = ("pass", ""), ("unknown", "not to be read")
WRONG = (
    "amdttm.pages_limit=25165824 (a file in modprobe.d) asks for 96 GiB of GTT, but 62 GiB is in effect: amdgpu uses "
    "ttm here, not amdttm."
)
OTHER = (
    "ttm.pages_limit=25165824 (a file in modprobe.d) asks for 96 GiB of GTT, but 62 GiB is in effect: amdgpu uses "
    "amdttm here, not ttm."
)
LATE = (
    "ttm.pages_limit=25165824 (the kernel command line) asks for 96 GiB of GTT, but 62 GiB is in effect: ttm was "
    "loaded without it, or changed since."
)


def apu(asked: Any, gpus: Any = (IGPU,), line: str = "quiet", **amd: Any) -> Facts:
    """A machine with integrated graphics alone, 124 GiB of RAM, half of them for the GPU."""
    pairs = tuple((name, size * GIB) for name, size in asked.items()) if isinstance(asked, dict) else asked
    facts = amd_host(gpus, **{"ttm_limit": 62 * GIB, "ttm_asked": pairs, **amd})
    return change(change(facts, "host.memory", 124 * GIB), "host.kernel.command_line", line)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (apu({"amdttm": 96}), ("problem", WRONG)),
        (apu({"ttm": 96}, line="ttm.pages_limit=25165824"), ("problem", LATE)),
        (apu({"ttm": 96}, version="6.16.6"), ("problem", OTHER)),
        (apu({"ttm": 62}), PASS),
        (apu({"ttm": 32, "amdttm": 96}), PASS),  # that of the module in use counts
        (apu({"amdttm": 96}, ttm_limit=96 * GIB), PASS),
        (apu({"amdttm": 96}, ttm_limit=None), PASS),
        (apu({}), PASS),
        (apu({"amdttm": 96}, (RADEON, IGPU)), PASS),  # a card has memory of its own
        (apu({"amdttm": 96}, ttm_limit=WHY), UNKNOWN),
        (apu(WHY), UNKNOWN),
    ],
)
def test_ttm_limit_not_in_effect(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(ttm_limit_not_in_effect, facts) == [verdict]


@pytest.mark.parametrize(
    ("facts", "typed"),
    [
        (apu({"amdttm": 96}, line="amdttm.pages_limit=25165824"), "ttm.pages_limit=25165824"),
        (apu({"amdttm": 96}), "options ttm pages_limit=25165824"),
        (apu({"amdttm": 128}), "options ttm pages_limit=31457280"),  # the system keeps 4 GiB
        (apu({"ttm": 96}, version="6.16.6"), "options amdttm pages_limit=25165824"),
        (apu({"ttm": 96}), "sudo update-initramfs -u"),
    ],
)
def test_the_limit_for_the_module_in_use(facts: Facts, typed: str) -> None:
    assert typed in commands(ttm_limit_not_in_effect, facts)


IMAGE = {"host.distribution": FEDORA, "nvidia.kernel.image_keys": ()}
NIXOS = {"host.distribution": Distribution(id="nixos", like=(), version="25.11", name="NixOS 25.11")}


@pytest.mark.parametrize(
    ("asked", "changes", "typed"),
    [
        ("amdttm", IMAGE, "rpm-ostree kargs --append-if-missing=ttm.pages_limit=25165824"),
        ("ttm", IMAGE, "rpm-ostree kargs --append-if-missing=ttm.pages_limit=25165824"),
        ("amdttm", NIXOS, 'boot.kernelParams = [ "ttm.pages_limit=25165824" ];'),
        ("ttm", NIXOS, 'boot.kernelParams = [ "ttm.pages_limit=25165824" ];'),
    ],
)
def test_an_image_and_nixos_take_the_limit_with_the_kernel(asked: str, changes: dict[str, Any], typed: str) -> None:
    facts = apu({asked: 96})
    for path, value in changes.items():
        facts = change(facts, path, value)
    found = commands(ttm_limit_not_in_effect, facts)
    assert typed in found
    assert "/etc/modprobe.d/zz" not in found
    assert "reboot" in found


def test_a_container_has_its_hosts_kernel() -> None:
    facts = change(apu({"ttm": 96}), "host.container", "docker")
    assert "On the host: rebuild the initial RAM disk" in commands(ttm_limit_not_in_effect, facts)
