"""What a fix takes or may destroy is in each format that shows its commands."""

import msgspec
import pytest

from gpudoctor.check_engine import Fix
from gpudoctor.report.fixes import entries, run_line
from gpudoctor.report.formats import FORMATS
from gpudoctor.report.model import FindingEntry, FixEntry, GpuEntry, Report
from gpudoctor.tasks import cmd
from tests.builders import nvidia_host

FIX = FixEntry(
    "Replace the snap.",
    ("sudo snap remove docker", "sudo apt-get install docker.io"),
    root=True,
    needs="restart of Docker",
    impact="data loss",
)
ENTRY = FindingEntry(
    check="container.docker-snap",
    status="fail",
    subject="this machine",
    title="Docker is the snap",
    message="Docker is the snap.",
    cause="It is confined.",
    fixes=(FIX,),
)
NAMES = ("text", "markdown", "html", "junit", "github", "tap", "sarif", "nagios")


@pytest.mark.parametrize("name", NAMES)
def test_each_format_warns(name: str) -> None:
    shown = FORMATS[name].render()(Report(status="fail", findings=(ENTRY,)))
    for words in ("data loss", "restart of Docker", "needs root"):
        assert words in " ".join(shown.split())


def test_a_monitor_gets_the_usable_gpus() -> None:
    statuses = ("ok", "lost", "no driver", "not in container")
    gpus = tuple(GpuEntry(index=i, vendor="nvidia", status=status) for i, status in enumerate(statuses))
    assert " gpus=1;;;0 " in FORMATS["nagios"].render()(Report(status="pass", gpus=gpus))
    unknown = (GpuEntry(index=0, vendor="nvidia", status="unknown"),)
    assert " gpus=U " in FORMATS["nagios"].render()(Report(status="pass", gpus=unknown))


def test_a_second_way_that_costs_more_is_not_the_one_that_is_recommended() -> None:
    first = Fix("Set it.")
    second = Fix("Remove them.", (cmd("rm", "x"),))
    assert run_line("a.b", entries((first, second), nvidia_host()), nvidia_host()) == "gpudoctor fix a.b --choice 2"
    lossy = msgspec.structs.replace(second, impact="data loss")
    unsure = msgspec.structs.replace(second, message="If nothing else needs them, remove them.")
    for one in (lossy, unsure):
        assert run_line("a.b", entries((first, one), nvidia_host()), nvidia_host()) == ""
        assert run_line("a.b", entries((one,), nvidia_host()), nvidia_host()) == "gpudoctor fix a.b"
