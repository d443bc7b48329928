"""nouveau on the GPU: a fallback, one of before the reboot, and one from a stale initial RAM disk."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Problem
from tests.builders import ask, nvidia_host
from tests.checks.nvidia_machines import WHY, disk, event, having, unloaded
from tests.checks.test_roots import roots

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
