"""Two machines beside each other: what differs, what matters first, and what is no difference."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudoctor.comparison import (
    ComparedMachine,
    Comparison,
    Difference,
    DifferenceGroup,
    DifferenceState,
    compare,
    read,
    side,
)
from gpudoctor.comparison.folding import ranges
from gpudoctor.comparison.model import ORDER
from gpudoctor.comparison.value_text import number, text
from gpudoctor.facts import Facts, GpuProcess, Package
from gpudoctor.facts.facts_file import FactsFileError
from gpudoctor.maybe import Unknown
from gpudoctor.pipeline import check
from gpudoctor.report.sanitize import document
from tests.builders import change, framework, gpu, live, nvidia_host, plain_host, python, with_framework
from tests.checks import healthy_nvidia as nv
from tests.checks import smoke_machines as smoke
from tests.checks.nvidia_machines import having, logged, versions, xid

NODE = nv.hgx(nv.H100)
TRAINED = smoke.machine()


def compared(here: Facts, there: Facts) -> Comparison:
    return compare(side("here", here), side("there", there))


def rows(here: Facts, there: Facts) -> dict[str, Difference]:
    return {row.path: row for row in compared(here, there).rows}


def test_a_machine_does_not_differ_from_itself() -> None:
    for facts in (NODE, TRAINED, plain_host(), versions("570.169", "575.57", "575.57")):
        assert compared(facts, facts).rows == ()


def test_what_differs_by_nature_is_no_difference() -> None:
    busy = (GpuProcess(pid=4711, memory=1 << 30, name="python"),)
    later: dict[str, Any] = {"temperature": 71, "utilization": 100, "power": 640.0, "sm_clock": 1755, "serial": "9"}
    later |= {"uuid": "GPU-9", "processes": busy, "memory_used": 1 << 30, "performance_state": 0}
    loaded = having(NODE, gpus=tuple(gpu(i, **(nv.H100 | later | {"link_generation": 5})) for i in range(8)))
    other = having(loaded, created="2026-01-01T00:00:00Z", seconds=3.0, host__hostname="elsewhere")
    assert [row.path for row in compared(NODE, other).rows] == []


def test_one_bad_link_is_one_row() -> None:
    found = compared(change(NODE, "gpus.3.link_width", 4), NODE)
    (row,) = [row for row in found.rows if row.group is DifferenceGroup.GPUS]
    assert (row.path, row.state, row.here, row.there) == ("gpus.3.link_width", DifferenceState.DIFFERS, "4", "16")


def test_equal_differences_of_several_gpus_are_one_row() -> None:
    bare = having(NODE, gpus=tuple(gpu(i, **(nv.H100 | {"persistence": i == 2})) for i in range(8)))
    assert rows(NODE, bare)["gpus.0-1,3-7.persistence"].there == "no"
    assert ranges([3, 1, 2, 7]) == "1-3,7"
    assert ranges([]) == ""


def test_a_link_that_rests_is_not_a_slower_one() -> None:
    idle = change(change(NODE, "gpus.0.link_generation", 1), "gpus.0.performance_state", 8)
    assert "gpus.0.link_generation" not in rows(NODE, idle)
    assert rows(NODE, change(NODE, "gpus.0.link_generation", 1))["gpus.0.link_generation"].there == "1"


def test_missing_gpus_are_told_once() -> None:
    seven = having(NODE, gpus=NODE.gpus[:7] if isinstance(NODE.gpus, tuple) else (), nvidia__nvml__count=7)
    found = rows(NODE, seven)
    assert found["gpus.7"].state is DifferenceState.ONLY_HERE
    assert found["gpus.7"].here == "NVIDIA H100 80GB HBM3"
    assert (found["nvidia.nvml.count"].here, found["nvidia.nvml.count"].there) == ("8", "7")
    assert compared(nvidia_host(), plain_host()).rows  # a list without entries on one side


def test_findings_come_first_roots_before_consequences() -> None:
    found = compared(versions("570.169", "575.57", "575.57"), nvidia_host())
    first, *others = [row for row in found.rows if row.group is DifferenceGroup.FINDINGS]
    assert (first.path, first.state, first.there) == ("driver.library-mismatch", DifferenceState.ONLY_HERE, "not found")
    assert first.here.startswith("FAIL: ")
    assert all(row.here.endswith("(a consequence)") for row in others)
    assert found.rows[0] is first
    order = [ORDER[row.group] for row in found.rows]
    assert order == sorted(order)


def test_the_same_problem_of_another_version_is_no_difference() -> None:
    refused = live(0, available=False, error="CUDA error: no kernel image is available", devices=())
    one = with_framework(framework(version="2.7.1", live=refused))
    other = with_framework(framework(version="2.7.0", live=refused))
    found = rows(one, other)
    assert [path for path, row in found.items() if row.group is DifferenceGroup.FINDINGS] == []
    assert found["pythons./opt/env/bin/python.frameworks.torch.version"].there == "2.7.0"


def test_a_question_that_one_side_could_not_answer_is_unknown_there() -> None:
    ill = nvidia_host()
    blind = change(ill, "nvidia.cuda.code", Unknown("it was not asked"))
    found = compared(change(ill, "nvidia.cuda.code", 999), blind)
    row = next(row for row in found.rows if row.path == "nvidia.cuda.code")
    assert (row.state, row.there) == (DifferenceState.UNKNOWN_THERE, "unknown: it was not asked")
    assert row not in found.matters
    assert all(
        row.state is DifferenceState.UNKNOWN_THERE for row in found.rows if row.group is DifferenceGroup.FINDINGS
    )


def test_what_both_do_not_know_is_no_row() -> None:
    one = change(nvidia_host(), "gpus", Unknown("driver not loaded"))
    other = change(nvidia_host(), "gpus", Unknown("the probe failed"))
    assert "gpus" not in rows(one, other)
    assert rows(nvidia_host(), one)["gpus"].state is DifferenceState.UNKNOWN_THERE


def test_real_differences_stand_before_unknown_ones() -> None:
    there = having(nvidia_host(), nvidia__kernel__loaded=Unknown("no module"), nvidia__kernel__flavor="proprietary")
    states = [row.state for row in compared(nvidia_host(), there).rows if row.group is DifferenceGroup.DRIVER]
    assert states == [DifferenceState.DIFFERS, DifferenceState.UNKNOWN_THERE]


def test_rates_differ_beyond_their_noise_and_errors_by_magnitude() -> None:
    same = smoke.ill(TRAINED, "bandwidth", figures={"copy": 3000.0 * 0.97})
    slow = smoke.ill(TRAINED, "bandwidth", figures={"copy": 1500.0})
    path = next(p for p in rows(TRAINED, slow) if p.endswith("figures.copy"))
    assert path not in rows(TRAINED, same)
    row = rows(TRAINED, slow)[path]
    assert row.group is DifferenceGroup.MEASURED
    assert row.change is not None
    assert row.change < -0.4
    far = smoke.ill(TRAINED, "matmul", figures={"error": 1.0})
    near = smoke.ill(TRAINED, "matmul", figures={"error": smoke.ERROR["bf16"] * 2})
    assert any(p.endswith("figures.error") for p in rows(TRAINED, far))
    assert not any(p.endswith("matmul bf16.figures.error") for p in rows(TRAINED, near))


def test_tests_that_one_side_did_not_run_are_one_row() -> None:
    (row,) = [
        row for row in compared(TRAINED, having(TRAINED, smoke=Facts().smoke)).rows if row.path.startswith("smoke.runs")
    ]
    assert row.path == "smoke.runs.pytorch GPU 0"
    assert (row.state, row.group) == (DifferenceState.ONLY_HERE, DifferenceGroup.MEASURED)


def test_the_kernels_log_is_compared_by_what_was_said() -> None:
    one, other = logged(xid(79), xid(79, pid=2), xid(31)), logged(xid(31, pid=9))
    found = [(row.path, row.here, row.there) for row in compared(one, other).rows if row.path.startswith("log.")]
    assert found == [("log.events.xid 79", "2", "")]


def test_packages_are_told_by_name_and_environments_by_path_where_they_share_one() -> None:
    def having_numpy(version: str, path: str) -> Facts:
        packages = (Package(name="numpy", version=version, directory="/x"),)
        return having(nvidia_host(), pythons=(python(packages=packages, path=path),))

    here = having_numpy("2.1", "/a/bin/python")
    assert (
        rows(here, having_numpy("1.26", "/a/bin/python"))["pythons./a/bin/python.packages.numpy.version"].here == "2.1"
    )
    assert rows(here, having_numpy("1.26", "/b/bin/python"))["pythons.1.packages.numpy.version"].there == "1.26"


def test_settings_that_one_side_has_none_of_are_one_difference() -> None:
    many = {f"NVreg_{number}": "1" for number in range(9)}
    there = having(nvidia_host(), nvidia__kernel__parameters=many)
    for here, other, begins in ((nvidia_host(), there, "none"), (there, nvidia_host(), "NVreg_0 1, NVreg_1 1, ")):
        (row,) = compared(here, other).rows
        assert (row.path, row.group) == ("nvidia.kernel.parameters", DifferenceGroup.DRIVER)
        assert row.here.startswith(begins)
    one = having(there, nvidia__kernel__parameters=many | {"NVreg_0": "0"})
    assert [row.path for row in compared(there, one).rows] == ["nvidia.kernel.parameters.NVreg_0"]


def test_names_and_homes_are_no_difference() -> None:
    here = having(nvidia_host(), host__environment={"CUDA_HOME": "/home/ada/cuda"})
    there = having(nvidia_host(), host__environment={"CUDA_HOME": "/home/bob/cuda"})
    assert compared(here, there).rows == ()


def test_sizes_within_what_a_kernel_keeps_are_equal() -> None:
    less, half = having(nvidia_host(), host__memory=63 << 30), having(nvidia_host(), host__memory=32 << 30)
    assert "host.memory" not in rows(nvidia_host(), less)
    row = rows(nvidia_host(), half)["host.memory"]
    assert (row.here, row.change) == ("64 GiB", -0.5)


def test_control_characters_of_a_file_do_no_harm() -> None:
    ill = having(nvidia_host(), host__environment={"CUDA_HOME": "\x1b]0;x\x07 [red]"})
    row = rows(nvidia_host(), ill)["host.environment.CUDA_HOME"]
    assert row.there == "\\x1b]0;x\\x07 [red]"
    ill = having(nvidia_host(), host__environment={"CUDA_\x1b[2J": "1"})
    assert rows(nvidia_host(), ill)["host.environment.CUDA_\\x1b[2J"].there == "1"


def test_what_a_gpu_has_not_and_what_is_empty_read_differently() -> None:
    row = rows(change(NODE, "gpus.0.mig_devices", None), change(NODE, "gpus.0.nvlinks", ()))["gpus.0.nvlinks"]
    assert (row.here, row.there) == (text(NODE.gpus[0].nvlinks), "empty")  # type: ignore[index]
    assert (text(None), text([]), text({})) == ("none", "empty", "none")


def test_numbers_that_are_none_are_shown_all_the_same() -> None:
    assert [number(value) for value in (float("nan"), float("inf"), 2.0, 0.5)] == ["nan", "inf", "2", "0.5"]


# -- files ---------------------------------------------------------------------------------------------------


def written(folder: Path, name: str, value: msgspec.Struct) -> str:
    path = folder / name
    path.write_text(document(value), encoding="utf-8")
    return str(path)


def test_facts_and_reports_are_read_from_files(tmp_path: Path) -> None:
    facts = read(written(tmp_path, "facts.json", NODE))
    assert facts.title == "facts.json"
    assert facts.facts is not None
    report = read(written(tmp_path, "report.json", check(facts=NODE)))
    assert report.facts is None
    assert report.report.gpus == facts.report.gpus


def test_against_a_report_what_reports_tell_is_compared(tmp_path: Path) -> None:
    there = read(written(tmp_path, "report.json", check(facts=versions("570.169", "575.57", "575.57"))))
    found = compare(side("here", nvidia_host()), there)
    assert not found.whole
    assert found.rows[0].path == "driver.library-mismatch"
    told = {row.path: row for row in found.rows}
    assert told["machine.driver_libraries"].there == "575.57"
    assert compare(there, there).rows == ()


def test_reports_of_smoke_tests_are_compared_by_their_figures() -> None:
    def reported(facts: Facts) -> ComparedMachine:
        return ComparedMachine(title="x", report=check(facts=facts))

    found = compare(reported(TRAINED), reported(smoke.ill(TRAINED, "bandwidth", figures={"copy": 1500.0})))
    paths = [row.path for row in found.rows if row.group is DifferenceGroup.MEASURED]
    assert paths == ["smoke.pytorch GPU 0.tests.bandwidth.figures.copy"]


def test_what_a_report_leaves_open_is_unknown() -> None:
    here, there = check(facts=nvidia_host()), check(facts=plain_host())
    found = {
        row.path: row
        for row in compare(ComparedMachine(title="a", report=here), ComparedMachine(title="b", report=there)).rows
    }
    assert found["machine.driver"].state is DifferenceState.UNKNOWN_THERE


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not valid"),
        ('{"schema": "gpudoctor.report/1", "gpus": 3}', "The report file .* is not valid"),
        ('{"schema": "gpudoctor.report/2"}', "has the schema 'gpudoctor.report/2'"),
        ('{"schema": "other/1"}', "has the schema 'other/1'"),
    ],
)
def test_other_files_are_refused_in_one_sentence(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(FactsFileError, match=message) as caught:
        read(str(path))
    assert "\n" not in str(caught.value)


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    for name, message in (("pipe", "is not a file"), ("", "is not a file"), ("none.json", "cannot be read")):
        with pytest.raises(FactsFileError, match=message):
            read(str(tmp_path / name))
    with pytest.raises(FactsFileError, match="cannot be read"):
        read("-")  # a file of that name, never standard input
