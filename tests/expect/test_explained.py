"""A root cause explains the expectations that it breaks, and no other."""

import pytest

from gpudoctor.check_engine import Outcome, run
from gpudoctor.expect.loader import loads
from gpudoctor.facts import ContainerHost, Facts
from gpudoctor.pipeline import CheckOptions, check
from gpudoctor.report.model import Report
from tests.builders import change, framework, plain_host, with_framework
from tests.checks import healthy_nvidia as nv
from tests.expect import one
from tests.machines.registry import machines

MACHINES = {machine.name: machine for machine in machines()}
GPUS = one("gpus", "count=1")
SEES = one("pythons.0.frameworks.torch.live.count", "at_least=1")


def held(facts: Facts, text: str) -> Report:
    return check(None, CheckOptions(expect=loads(text, "e.toml")), facts)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("module-not-loaded", GPUS),
        ("card-without-a-driver", one("nvidia.kernel.loaded", "version='>=500'")),
        ("upgraded-under-a-running-kernel", SEES),
        ("cpu-wheel", SEES),
        ("cpu-wheel", one("pythons.0.frameworks.torch.cuda", "present=true")),
        ("mask-names-a-gpu-that-is-not-there", SEES),
        ("fell-off-the-bus", one("gpus", "count=8")),
        ("nvidia-smi-hangs", one("gpus.*.name", "contains='NVIDIA'")),
    ],
)
def test_the_root_cause_explains_it(name: str, text: str) -> None:
    machine = MACHINES[name]
    facts, (expected,) = machine.make(), loads(text, "e.toml")
    (verdict,) = run(expected.check(facts), facts)
    assert verdict.outcome in (Outcome.PROBLEM, Outcome.UNKNOWN)
    report = held(facts, text)
    assert expected.id not in {entry.check for entry in report.findings}
    is_unknown = verdict.outcome is Outcome.UNKNOWN  # each rule of an operator's is met, not met or listed as unknown
    assert (expected.id in {entry.check for entry in report.unknown}) is is_unknown
    following = {
        entry.check: c.message for entry in report.findings for c in entry.consequences if c.check == expected.id
    }
    assert following == ({machine.root: verdict.message} if verdict.outcome is Outcome.PROBLEM else {})


@pytest.mark.parametrize(
    "text",
    [
        one("gpus.*.name", "contains='B200'"),
        one("host.memory", "at_least=1e15"),
        one("nvidia.kernel.loaded", "version='>=999'"),
        one("pythons.0.frameworks.torch.version", "version='>=99'"),
    ],
)
def test_what_has_nothing_to_do_with_it_stands_for_itself(text: str) -> None:
    facts = MACHINES["fabric-manager-not-running"].make()
    report = held(facts, text)
    assert [entry.check.partition(".")[0] for entry in report.findings if not entry.check.startswith("fabric.")] == [
        "expect"
    ]
    assert any(entry.check.startswith("fabric.") for entry in report.findings)


def test_what_ails_the_gpu_of_one_vendor_explains_nothing_about_the_driver_of_another() -> None:
    report = held(MACHINES["amdgpu-not-loaded"].make(), one("nvidia.kernel.loaded", "version='>=570'"))
    assert "expect.nvidia-kernel-loaded" in {entry.check for entry in report.findings}


def test_who_expects_a_gpu_is_told_why_there_is_none() -> None:
    report = held(plain_host(), GPUS)
    assert (report.status, report.failed) == ("no-gpu", True)
    (entry,) = (entry for entry in report.findings if entry.status == "fail")
    assert entry.check == "device.no-gpu"
    assert [c.message for c in entry.consequences] == ["gpus: expected 1 of them, found 0."]


def test_unknown_is_incomplete() -> None:
    report = held(nv.hgx(nv.H100, 4), one("smoke.pytorch.transfer.h2d pinned", "at_least=1"))
    assert report.status == "incomplete"
    assert [(entry.check, entry.subject, entry.essential) for entry in report.unknown if entry.essential] == [
        ("expect.smoke-pytorch-transfer-h2d-pinned", "e.toml:1", True)
    ]


def test_a_rule_that_is_not_met_raises_no_warning() -> None:
    report = held(MACHINES["card-not-seated"].make(), one("gpus.*.link_width", "at_least=16"))
    assert {(entry.check, entry.status) for entry in report.findings} == {
        ("expect.gpus-link-width", "fail"),
        (MACHINES["card-not-seated"].root, "warn"),
    }


@pytest.mark.parametrize("severity", ["fail", "warn"])
def test_what_ails_the_containers_of_a_host_explains_nothing_about_its_own_frameworks(severity: str) -> None:
    docker = ContainerHost(docker="/usr/bin/docker", podman="/usr/bin/podman", docker_rootless=False, no_cgroups=True)
    facts = change(with_framework(framework()), "containers", docker)
    text = f"{one('pythons.0.frameworks.cupy.live.count', 'at_least=1')}severity='{severity}'\n"
    report = held(facts, text)
    found = {entry.check: entry for entry in report.findings}
    assert found["container.no-cgroups"].status == "warn"  # Podman is there too
    assert found["container.no-cgroups"].consequences == ()
    assert found["expect.pythons-0-frameworks-cupy-live-count"].status == severity


def test_a_framework_that_is_not_installed_is_no_effect_of_a_dead_driver() -> None:
    report = held(MACHINES["module-not-loaded"].make(), one("pythons.0.frameworks.cupy.live.count", "at_least=1"))
    assert "expect.pythons-0-frameworks-cupy-live-count" in {entry.check for entry in report.findings}
