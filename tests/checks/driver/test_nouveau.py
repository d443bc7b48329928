"""nouveau on the GPU: a fallback, one of before the reboot, and one from a stale initial RAM disk."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Problem
from gpudoctor.facts.host import ConfigLine
from tests.builders import ask, nvidia_host
from tests.checks.nvidia_machines import OTHER, WHY, disk, event, having, unloaded
from tests.checks.test_roots import roots

OLDER, NEWER = "6.5.0-14-generic", "6.11.0-9-generic"
NOUVEAU = unloaded(pci__0__driver="nouveau", nvidia__kernel__blacklists=("nouveau",))


def test_a_module_that_secure_boot_rejects_makes_nouveau_the_fallback() -> None:
    rejected = {"host__kernel__secure_boot": True, "log__events": (event("module-rejected"),)}
    facts = having(NOUVEAU, **rejected)
    assert ask(catalogue.load(["driver.nouveau-in-the-way"])[0], facts) == [("pass", "")]
    message = ask(catalogue.load(["driver.refused-by-secure-boot"])[0], facts)[0][1]
    assert message.endswith("nouveau, which is blacklisted, was loaded as a fallback.")
    open_to_it = having(facts, nvidia__kernel__blacklists=())
    assert ask(catalogue.load(["driver.nouveau-in-the-way"])[0], open_to_it)[0][0] == "problem"


@pytest.mark.parametrize(
    ("age", "cause", "fix"),
    [
        (60.0, "was installed after this boot", "Reboot: "),
        (9e5, "Either the machine was not rebooted since", "Rebuild the initial RAM disk"),
        (WHY, "Either the machine was not rebooted since", "Rebuild the initial RAM disk"),
    ],
)
def test_a_blacklist_that_came_after_this_boot_needs_the_next_one(age: Any, cause: str, fix: str) -> None:
    facts = having(NOUVEAU, nvidia__kernel__on_disk=(disk(age=age),), host__uptime=3600.0)
    one = catalogue.load(["driver.nouveau-in-the-way"])[0]
    problem = one(facts)
    assert isinstance(problem, Problem)
    assert cause in (problem.cause or "")
    assert one.fixes_for(facts)[0].message.startswith(fix)
    assert one.fixes_for(facts)[0].commands[-1] == "sudo reboot"


OLD = {"pci__0__generation": "Maxwell", "nvidia__kernel__on_disk": (disk("595.58.03"),), "gpus": ()}


def test_a_card_that_the_driver_dropped_stays_with_nouveau() -> None:
    """The reboot that gives NVIDIA's driver its turn changes nothing there."""
    facts = having(NOUVEAU, **OLD)
    assert roots(facts) == {"driver.gpu-dropped": "fail"}
    displays = having(nvidia_host(2), pci__0__driver="nouveau", pci__0__generation="Maxwell", gpus__0__address="x")
    assert ask(catalogue.load(["driver.gpu-dropped"])[0], displays) == [("pass", "")]


FULL = {"host__kernel__boot_free": 6 << 20, "host__kernel__initramfs": 30 << 20, "host__kernel__others": (OLDER, OTHER)}


@pytest.mark.parametrize(
    ("others", "commands", "room"),
    [
        (
            (OLDER, OTHER),
            ("df -h /boot", f"sudo apt-get purge linux-image-{OLDER}"),
            f"kernel {OLDER}, which is not running, is removed for it",
        ),
        ((NEWER,), ("df -h /boot",), "free space there first"),
        (WHY, ("df -h /boot",), "free space there first"),
    ],
)
def test_a_full_boot_partition_keeps_the_old_initial_ram_disk(others: Any, commands: Any, room: str) -> None:
    facts = having(NOUVEAU, **(FULL | {"host__kernel__others": others}))
    one = catalogue.load(["driver.nouveau-in-the-way"])[0]
    assert "/boot has no room" in ask(one, facts)[0][1]
    fix = one.fixes_for(facts)[0]
    assert fix.commands == (*commands, "sudo update-initramfs -u", "sudo reboot")
    assert f"/boot has 6 MiB left, and the new initial RAM disk needs 30 MiB: {room}." in fix.message


def test_with_room_or_without_a_size_nothing_is_said_of_boot() -> None:
    one = catalogue.load(["driver.nouveau-in-the-way"])[0]
    for change in ({"host__kernel__boot_free": 31 << 20}, {"host__kernel__initramfs": None}):
        facts = having(NOUVEAU, **(FULL | change))
        assert "/boot" not in ask(one, facts)[0][1] + one.fixes_for(facts)[0].message


MESA = {"nvidia__kernel__glx": "/usr/lib/mesa-diverted", "nvidia__kernel__blacklists": ()}


def test_debians_alternative_takes_the_blacklist_away() -> None:
    facts = having(NOUVEAU, **MESA)
    assert roots(facts) == {"driver.glx-alternative": "fail"}
    fix = catalogue.load(["driver.glx-alternative"])[0].fixes_for(facts)[0]
    assert fix.commands == ("sudo update-alternatives --auto glx", "sudo update-initramfs -u", "sudo reboot")
    chosen = having(facts, nvidia__kernel__glx="/usr/lib/nvidia")
    assert roots(chosen) == {"driver.nouveau-in-the-way": "fail"}


def test_a_driver_that_works_beside_mesas_alternative_is_right() -> None:
    working = having(nvidia_host(), **MESA)
    assert ask(catalogue.load(["driver.glx-alternative"])[0], working) == [("pass", "")]
    loaded = ("nvidia", "nvidia_modeset")
    without = having(working, nvidia__kernel__modules=loaded, nvidia__cuda__code=999)
    assert ask(catalogue.load(["driver.glx-alternative"])[0], without)[0][0] == "problem"


def test_dracut_rebuilds_it_where_it_took_the_place_of_initramfs_tools() -> None:
    facts = having(NOUVEAU, host__kernel__by_dracut=True)
    fix = catalogue.load(["driver.nouveau-in-the-way"])[0].fixes_for(facts)[0]
    assert fix.commands == ("sudo dracut --force", "sudo reboot")


def test_nouveau_that_a_file_loads_by_name() -> None:
    path = "/etc/initramfs-tools/modules"
    facts = having(NOUVEAU, nvidia__kernel__nouveau_lines=(ConfigLine(path=path, text="nouveau"),))
    one = catalogue.load(["driver.nouveau-in-the-way"])[0]
    problem = one(facts)
    assert isinstance(problem, Problem)
    assert problem.message.endswith(f"{path} has it loaded by its name at each boot.")
    (fix,) = one.fixes_for(facts)
    assert fix.commands == (rf"sudo sed -i.bak '/^\s*nouveau\b/d' {path}", "sudo update-initramfs -u", "sudo reboot")
