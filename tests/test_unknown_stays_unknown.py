"""What was not looked at decides nothing: neither a pass, nor a build, nor a number."""

from array import array
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.host.numa_balancing import _instinct
from gpudoctor.checks.packages.gpu_unknown import gpu_unknown
from gpudoctor.cli import main
from gpudoctor.facts import Facts
from gpudoctor.fixes.kernel_packages import newer_kernel
from gpudoctor.fixes.torch_build import driver_cuda
from gpudoctor.fleet.aggregate.report_ages import stale
from gpudoctor.maybe import Unknown, UnknownFactError
from gpudoctor.report.renderers.closing import ROOT, closing
from gpudoctor.symptoms.extractors import extracted
from gpudoctor.tasks import query
from tests.builders import change, nvidia_host
from tests.checks.amd_machines import amd_host
from tests.checks.environments import environment

WHY = Unknown("not to be seen")


def test_a_stub_is_no_source_of_the_drivers_cuda() -> None:
    facts = change(change(nvidia_host(), "nvidia.cuda.code", 34), "nvidia.cuda.version", "99.0")
    assert driver_cuda(nvidia_host()) is not None
    assert driver_cuda(facts) not in (None, "99.0")


def test_a_message_is_explained_where_the_bus_is_unknown() -> None:
    lines = ["ModuleNotFoundError: No module named 'torch'"]
    assert extracted("missing_framework", lines, change(nvidia_host(), "pci", WHY)) is not None


def test_two_gpus_of_an_unknown_target_are_not_called_others() -> None:
    one = amd_host()
    facts = change(change(one, "gpus.0.gfx", WHY), "gpus", (change(one, "gpus.0.gfx", WHY).gpus[0],) * 2)  # type: ignore[index]
    with pytest.raises(UnknownFactError):
        _instinct(facts)


def test_imports_that_were_not_tried_are_no_pass() -> None:
    (verdict,) = run(gpu_unknown, change(environment(), "pythons.0.imports", WHY))
    assert verdict.outcome.name == "UNKNOWN"


def test_a_container_gets_no_kernel() -> None:
    fix = newer_kernel(change(amd_host(), "host.container", "docker"), "Install 6.17.", query("uname", "-r"))
    assert (fix.commands, fix.place) == ((), "outside")


def test_a_report_without_a_time_is_stale_where_an_age_is_asked_for() -> None:
    now = 1_800_000_000
    made = array("q", [now - 60, 0, now + 10**8])
    assert [place for place, _ in stale(made, timedelta(hours=1), now)] == [1, 2]
    assert [place for place, _ in stale(made, None, now)] == []


@pytest.mark.parametrize("status", ["fail", "pass"])
def test_a_report_of_another_root_says_in_each_state_that_no_driver_was_asked(status: str) -> None:
    other = change(Facts(), "nvidia.nvml.code", Unknown("libraries are not loaded under another root"))
    assert ROOT in closing(other, [], status, ())
    assert ROOT not in closing(nvidia_host(), [], status, ())


@pytest.mark.parametrize("symptom", ["Key was rejected by service", "CUDA error 803"])
def test_a_symptom_is_judged_before_secrets_are_masked(
    symptom: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = change(nvidia_host(), "nvidia.kernel.loaded", None)
    facts = change(facts, "nvidia.nvml.text", "see https://ada:hunter2@example.org/simple")
    path = tmp_path / "facts.json"
    path.write_bytes(msgspec.json.encode(change(facts, "nvidia.nvml.code", 9)))
    main(["check", "--facts", str(path), "--symptom", symptom, "--json"])
    printed = capsys.readouterr().out
    assert "example.org" in printed
    assert "hunter2" not in printed
