"""The old module that a restart loads again, because the initial RAM disk has it."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Problem
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import FEDORA, UBUNTU
from tests.checks.nvidia_machines import KERNEL, disk, event, having, versions

WEEK = 7 * 86400.0
EARLY = (event("nvidia-loaded", driver="570.133.07"), event("switch-root"))
LATE = EARLY[::-1]


def upgraded(**changes: object) -> Facts:
    """A machine whose libraries and module file are newer than the loaded module."""
    return having(versions("570.133.07", "570.169", "570.169"), **changes)


def asked(facts: Facts) -> tuple[str | None, tuple[str, ...]]:
    """The cause that the finding gives beyond the usual one, and the first fix's commands."""
    one = catalogue.load(["driver.library-mismatch"])[0]
    problem = one(facts)
    assert isinstance(problem, Problem)
    return problem.cause, one.fixes_for(facts)[0].commands


REBUILT = (f"sudo update-initramfs -u -k {KERNEL}", "sudo reboot")


def test_the_log_shows_that_it_was_loaded_before_the_root_file_system() -> None:
    cause, commands = asked(upgraded(log__events=EARLY))
    assert cause is not None
    assert "The initial RAM disk (initramfs) still contains module 570.133.07" in cause
    assert commands == REBUILT
    assert asked(upgraded(log__events=EARLY, host__distribution=FEDORA))[1] == ("sudo dracut --force", "sudo reboot")


@pytest.mark.parametrize(
    ("age", "uptime", "is_old"),
    [
        (WEEK, 3600.0, True),  # restarted since the upgrade
        (3600.0, WEEK, False),  # upgraded since the restart
        (3700.0, 3600.0, False),  # during the start, as far as clocks tell
        (Unknown("no time"), 3600.0, False),
        (WEEK, Unknown("LXC"), False),
    ],
)
def test_a_machine_that_was_restarted_since_the_upgrade(age: object, uptime: object, is_old: bool) -> None:
    facts = upgraded(nvidia__kernel__on_disk=(disk(age=age),), host__uptime=uptime)
    cause, commands = asked(facts)
    assert (cause is not None, commands == REBUILT) == (is_old, is_old)
    assert is_old or commands == ("sudo reboot",)


def test_what_explains_it_otherwise() -> None:
    assert asked(upgraded(log__events=LATE, host__distribution=UBUNTU))[1] == ("sudo reboot",)
    reloaded = (*EARLY, event("nvidia-loaded", driver="570.133.07"))
    assert asked(upgraded(log__events=reloaded))[1] == ("sudo reboot",)
    both = (disk(age=WEEK), disk("570.133.07", age=WEEK))
    assert asked(upgraded(nvidia__kernel__on_disk=both, host__uptime=60.0))[0] is None
