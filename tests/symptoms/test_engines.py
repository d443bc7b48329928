"""Messages of what starts containers, explained within one: the fault is on the host, not in here."""

import pytest

from gpudoctor import check
from gpudoctor.catalogue import load
from gpudoctor.check_engine import judge
from gpudoctor.facts import Facts
from gpudoctor.report.model import SymptomEntry
from gpudoctor.report.renderers.symptom_text import CHECKED, render
from gpudoctor.symptoms.diagnosis import ENGINE, attach
from tests.builders import change, nvidia_host, plain_host

CONTAINER = change(plain_host(), "host.container", "docker")
REQUIREMENT = "nvidia-container-cli: requirement error: unsatisfied condition: cuda>={}, please update your driver"


def asked(text: str, facts: Facts) -> tuple[SymptomEntry, str]:
    report = attach(check(facts=facts), text, facts, list(judge(facts, load())))
    assert report.root_symptom is not None
    return report.root_symptom, render(report)


@pytest.mark.parametrize(
    "text",
    [
        "nvidia-container-cli: initialization error: driver error: failed to process request",
        "nvidia-container-cli: initialization error: cannot open shared object file",
        "nvidia-container-cli: mount error: stat failed: /dev/nvidia-modeset: no such file or directory",
        "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all",
        'failed to get sandbox runtime: no runtime for "nvidia" is configured',
    ],
)
def test_this_container_is_not_blamed_for_what_its_host_wrote(text: str) -> None:
    root, shown = asked(text, CONTAINER)
    assert (root.explained_by, root.notice, root.unexplained) == ((), ENGINE, False)
    assert root.fixes
    assert all(fix.place == "outside" for fix in root.fixes)
    assert CHECKED not in shown
    assert "Recreate the container" not in shown


def test_on_the_host_the_row_is_as_it_was() -> None:
    root, shown = asked("nvidia-container-cli: initialization error: driver error: failed to start", nvidia_host())
    assert (root.notice, root.unexplained) == ("", True)
    assert CHECKED in shown
    assert all(fix.place == "here" for fix in root.fixes)


def test_the_banner_of_an_image_is_explained_by_the_container_without_a_gpu() -> None:
    root, shown = asked(
        "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.", CONTAINER
    )
    assert root.explained_by[0] == "device.no-gpu"
    assert CHECKED not in shown


def test_an_image_that_asks_for_more_than_the_driver_has_is_told_so() -> None:
    facts = change(nvidia_host(), "nvidia.cuda.version", "12.8")
    root, shown = asked(REQUIREMENT.format("13.0"), facts)
    assert root.fixes[0].message == "Use an image with CUDA 12.8 or older."
    assert [fix.message for fix in root.fixes if fix.message.startswith("Use an image")] == [root.fixes[0].message]
    assert not root.unexplained
    assert CHECKED not in shown
    other, _ = asked(REQUIREMENT.format("12.4"), facts)  # then the message is of another machine, or older
    assert "Use an image with CUDA 12.8 or older." not in [fix.message for fix in other.fixes]
    assert other.unexplained


def test_groups_are_advised_by_number_and_only_where_they_help() -> None:
    denied, _ = asked("Unable to open /dev/kfd read-write: Permission denied", CONTAINER)
    typed = [command for fix in denied.fixes for command in fix.commands]
    assert any("stat -c %g /dev/kfd" in command for command in typed)
    assert not any("--group-add render" in command for command in typed)
    assert denied.advice == ""
    invalid, _ = asked("Unable to open /dev/kfd read-write: Invalid argument", CONTAINER)
    assert invalid.id == "kfd-invalid"
    assert not any("usermod" in command for fix in invalid.fixes for command in fix.commands)
