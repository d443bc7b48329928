"""A host's file system seen from a container: what --root itself leaves out keeps no healthy machine incomplete."""

from pathlib import Path

import pytest

from gpudoctor import check, pipeline
from gpudoctor.expect.discovery import expectations
from gpudoctor.facts import Facts
from gpudoctor.facts.text_types import ANOTHER_ROOT
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import CheckOptions
from gpudoctor.report.renderers import npd, prometheus
from gpudoctor.report.renderers.closing import ROOT
from tests.builders import change
from tests.machines.registry import machines

WHY = Unknown("libraries are not asked under another root")
PARTS = {
    "nvidia.nvml": ("loaded", "code", "text", "driver_version", "cuda_version", "count"),
    "nvidia.cuda": ("loaded", "code", "name", "text", "version", "devices", "unmasked_code"),
}


def mounted(why: Unknown = WHY) -> Facts:
    """A node that is well, of which only files are read."""
    facts = next(m for m in machines() if m.name == "hgx-h100").make()
    for part, names in PARTS.items():
        for name in names:
            facts = change(facts, f"{part}.{name}", why)
    return change(facts, "gpus", why)


def test_a_host_that_is_well_is_complete_and_the_report_says_what_nobody_asked() -> None:
    report = check(facts=mounted())
    assert (report.status, report.ok) == ("pass", True)
    assert ROOT in report.next
    assert any(entry.reason.endswith(ANOTHER_ROOT) for entry in report.unknown)
    assert not any(entry.essential for entry in report.unknown)


def test_a_condition_of_kubernetes_says_that_the_driver_was_not_asked() -> None:
    report = check(facts=mounted())
    line = npd.render(report)
    assert line.endswith(" checks passed; files only, driver not asked (--root)\n")
    assert len(line) <= npd.LONGEST + 1
    assert "gpudoctor_driver_asked 0.0\n" in prometheus.render(report)
    asked = check(facts=next(m for m in machines() if m.name == "hgx-h100").make())
    assert "--root" not in npd.render(asked)
    assert "gpudoctor_driver_asked 1.0\n" in prometheus.render(asked)


def test_another_reason_leaves_it_incomplete() -> None:
    report = check(facts=mounted(Unknown("NVML: Insufficient Permissions")))
    assert report.status == "incomplete"
    assert ROOT not in report.next


def test_what_somebody_expects_has_to_be_found_out(tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text('[expect."gpus"]\ncount = 8\n')
    options = CheckOptions(expect=expectations([str(file)], automatic=False))
    assert check(options=options, facts=mounted()).status == "incomplete"


@pytest.mark.parametrize("part", PARTS)
def test_the_probes_give_that_reason(part: str, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    nvidia = pipeline.gather(Machine(root=str(tmp_path)), CheckOptions(quick=True)).nvidia
    code = nvidia.nvml.code if part == "nvidia.nvml" else nvidia.cuda.code
    assert isinstance(code, Unknown)
    assert code.unknown.endswith(ANOTHER_ROOT)
