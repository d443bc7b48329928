"""A service that wrote a known error of GPUs."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.host.service_errors import service_errors
from gpudoctor.facts import Distribution, Facts, ServiceLine, ServiceLog, Shm
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import check
from tests.builders import ask, change, nvidia_host, plain_host

CPU = ServiceLine(service="ollama.service", symptom="ollama", text='msg="inference compute" id=cpu', seconds=10.0)
CDI = ServiceLine(service="podman", symptom="cdi", text="Error: unresolvable CDI devices nvidia.com/gpu=all")
NO_DEVICES = ServiceLine(service="ollama.service", symptom="nvml-mismatch", text="Driver/library version mismatch")


def logged(*lines: ServiceLine, base: Facts | None = None) -> Facts:
    facts = change(base or nvidia_host(), "services", ServiceLog(lines=lines))
    return change(facts, "host.uptime", 3 * 3600.0 + 10)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (logged(CPU), 'ollama.service logged 3 hours ago: msg="inference compute" id=cpu'),
        (logged(CDI), "podman logged: Error: unresolvable CDI devices nvidia.com/gpu=all"),
        (change(logged(CDI), "host.uptime", Unknown("no /proc")), f"podman logged: {CDI.text}"),
        # the error before the warning
        (logged(CPU, NO_DEVICES), "ollama.service logged: Driver/library version mismatch"),
    ],
)
def test_problems(facts: Facts, message: str) -> None:
    assert ask(service_errors, facts) == [("problem", message)]


@pytest.mark.parametrize(
    "facts",
    [
        logged(),
        logged(CDI, base=plain_host()),
        change(logged(CDI), "host.container", "docker"),
        change(logged(CDI), "host.wsl", 2),
        change(logged(CPU), "host.uptime", 2 * 86400.0),
        change(plain_host(), "services.lines", Unknown("closed")),
    ],
)
def test_nothing_to_look_at(facts: Facts) -> None:
    assert ask(service_errors, facts) == [("skipped", "")]


def test_a_closed_journal_is_unknown() -> None:
    facts = change(nvidia_host(), "services.lines", Unknown("closed"))
    assert ask(service_errors, facts) == [("unknown", "closed")]
    assert ask(service_errors, change(facts, "host.container", "docker")) == [("skipped", "")]


def test_a_row_of_a_newer_release_is_passed_over() -> None:
    assert ask(service_errors, logged(ServiceLine(service="podman", symptom="of-a-newer-release", text="x"))) == [
        ("pass", "")
    ]


def test_each_service_is_a_finding_with_the_steps_for_this_machine() -> None:
    facts = change(logged(CPU, CDI), "host.distribution", Distribution(id="fedora"))
    ollama, podman = run(service_errors, facts)
    assert (ollama.about.label, podman.about.label) == ("ollama.service", "podman")
    assert ollama.problem is not None
    assert ollama.problem.cause == "The Ollama service sees no usable GPU and runs on the CPU."
    assert ollama.fixes[0].commands == ("sudo systemctl restart ollama",)
    explain = "journalctl -b -t podman -n 1000 --no-pager | gpudoctor explain -"
    assert podman.fixes[-1].commands == (explain,)


def test_it_is_the_finding_where_nothing_explains_it() -> None:
    (found,) = (one for one in check(facts=logged(CDI)).findings if one.status != "advice")
    assert (found.check, found.status) == ("host.service-errors", "warn")
    assert found.run == ""  # what is written for all machines is typed, not run


def test_a_finding_that_its_row_names_explains_it() -> None:
    facts = change(logged(CPU), "nvidia.kernel.loaded", None)
    report = check(facts=facts)
    assert "host.service-errors" not in [one.check for one in report.findings]
    (root,) = (one for one in report.findings if one.status == "fail")
    assert "host.service-errors" in [one.check for one in root.consequences]


def test_a_finding_about_something_else_leaves_it_alone() -> None:
    report = check(facts=change(logged(CDI), "host.shm", Shm(size=1 << 33, free=1 << 33, mode="755", writable=False)))
    found = {one.check: one for one in report.findings if one.status != "advice"}
    assert sorted(found) == ["host.service-errors", "host.shm-not-writable"]
    assert found["host.service-errors"].consequences == ()
