"""AMD GPUs that do not resume from runtime suspend."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.rocm.resume_failed import resume_failed
from gpudoctor.facts import Facts, LogEvent
from gpudoctor.maybe import Unknown
from tests.builders import UBUNTU, ask, change
from tests.checks.amd_machines import RADEON, amd_host

LINE = "amdgpu 0000:01:00.0: amdgpu: resume of IP block <smu> failed -5"
LOGGED = LogEvent(kind="driver-error", text=LINE, gpu="0000:01:00.0")


def _host(status: object, line: str = "ro quiet", *events: LogEvent) -> Facts:
    facts = change(amd_host((RADEON,)), "pci.0.runtime_status", status)
    facts = change(change(facts, "log.events", events), "host.kernel.command_line", line)
    return change(facts, "host.distribution", UBUNTU)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("error", "problem"),
        ("suspended", "pass"),  # an idle card
        ("active", "pass"),
        (None, "pass"),
        (Unknown("not readable"), "unknown"),
    ],
)
def test_only_the_kernels_own_error_counts(status: object, outcome: str) -> None:
    assert [said for said, _ in ask(resume_failed, _host(status, "ro", LOGGED))] == [outcome]
    assert ask(resume_failed, change(_host(status), "pci.0.driver", "vfio-pci"))[0][0] != "problem"


def test_the_message_names_the_setting() -> None:
    plain = (
        "GPU 0 (Radeon RX 7900 XTX) was suspended while idle, and did not resume: its runtime power management reports "
        "an error"
    )
    assert ask(resume_failed, _host("error")) == [("problem", f"{plain}.")]
    verdict = run(resume_failed, _host("error", "ro amdgpu.runpm=1", LOGGED))[0]
    assert verdict.problem is not None
    assert verdict.problem.message == f"{plain} (amdgpu.runpm=1 is set)."
    assert verdict.problem.evidence == (LINE,)


def test_a_setting_that_would_win_is_removed() -> None:
    def commands(line: str) -> tuple[str, ...]:
        return run(resume_failed, _host("error", line))[0].fixes[0].commands

    assert commands("ro amdgpu.runpm=1")[0] == "sudo sed -i 's/ *amdgpu[.]runpm=1//g' /etc/default/grub"
    assert "amdgpu.runpm=0" in commands("ro amdgpu.runpm=1")[1]
    assert commands("ro") == commands("ro amdgpu.runpm=1")[1:]
