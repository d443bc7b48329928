"""No check speaks where its vendor's hardware and software are not there."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Outcome, judge
from gpudoctor.facts import DeviceNode, Facts, Host, KernelLog, User, UserGroup
from tests.builders import change, framework, host, live, nvidia_host, plain_host, with_framework
from tests.checks.amd_machines import amd_host

CHECKS = catalogue.load(catalogue.ids())
USER = User(uid=1000, name="a", groups=(UserGroup(gid=1000),), known_groups=(UserGroup(gid=44, name="video"),))


def problems(facts: Facts) -> list[str]:
    return [v.check.id for v in judge(facts, CHECKS) if v.outcome is Outcome.PROBLEM]


HEALTHY = {
    "NVIDIA": nvidia_host(),
    "NVIDIA with PyTorch": with_framework(framework()),
    "two NVIDIA GPUs": nvidia_host(2),
    "AMD": amd_host(),
    "nothing": plain_host(),
    "nothing, with a CUDA wheel": with_framework(
        framework(live=live(0, error="Found no NVIDIA driver on your system.")), plain_host()
    ),
}


@pytest.mark.parametrize("facts", HEALTHY.values(), ids=HEALTHY.keys())
def test_no_check_fails_or_breaks_on_a_healthy_machine(facts: Facts) -> None:
    verdicts = list(judge(facts, CHECKS))
    loud = [(v.check.id, v.message) for v in verdicts if v.outcome is Outcome.PROBLEM and v.severity.value != "advice"]
    assert loud == []
    assert [(v.check.id, v.message) for v in verdicts if v.outcome is Outcome.BROKEN] == []


def test_nothing_breaks_on_a_machine_about_which_nothing_is_known() -> None:
    verdicts = list(judge(Facts(), CHECKS))
    assert [(v.check.id, v.message) for v in verdicts if v.outcome in (Outcome.BROKEN, Outcome.PROBLEM)] == []


# Ids of checks that speak of NVIDIA's or of AMD's things only, by area.
NVIDIA_AREAS = {"fabric", "mig"}
AMD_AREAS = {"rocm"}


@pytest.mark.parametrize("facts", [amd_host(), plain_host()], ids=["AMD", "nothing"])
def test_checks_of_nvidia_are_not_even_asked_elsewhere(facts: Facts) -> None:
    asked = {v.check.id for v in judge(facts, CHECKS) if v.outcome is not Outcome.SKIPPED}
    assert {i for i in asked if i.split(".")[0] in NVIDIA_AREAS} == set()


@pytest.mark.parametrize("facts", [nvidia_host(), plain_host()], ids=["NVIDIA", "nothing"])
def test_checks_of_amd_are_not_even_asked_elsewhere(facts: Facts) -> None:
    asked = {v.check.id for v in judge(facts, CHECKS) if v.outcome is not Outcome.SKIPPED}
    assert {i for i in asked if i.split(".")[0] in AMD_AREAS} == set()


def test_wsl_checks_are_not_asked_off_wsl() -> None:
    for facts in (nvidia_host(), amd_host(), plain_host()):
        asked = {v.check.id for v in judge(facts, CHECKS) if v.outcome is not Outcome.SKIPPED}
        assert {i for i in asked if i.startswith("wsl.")} == set()


def test_a_sick_machine_of_one_vendor_gets_no_word_about_the_other() -> None:
    closed = (DeviceNode(path="/dev/kfd", mode="660", uid=0, gid=110, error="EACCES"),)
    sick = change(change(amd_host(), "host.user", USER), "amd.kfd", closed)
    assert not {i for i in problems(sick) if i.split(".")[0] in {"driver", "fabric", "mig"}}
    gone = change(nvidia_host(), "nvidia.kernel.loaded", None)
    assert not {i for i in problems(gone) if i.split(".")[0] == "rocm"}
    assert isinstance(host(), Host)
    assert isinstance(sick.log, KernelLog)
