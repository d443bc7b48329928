"""What scripts call, as docs/library.md shows it."""

import ast
import inspect
import pydoc
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

import gpudoctor
from gpudoctor import Fix, Report, Verdict, demo
from gpudoctor.check_engine import Action
from gpudoctor.checks import driver
from gpudoctor.checks.driver import library_mismatch
from gpudoctor.report.renderers import text
from gpudoctor.requirements.demands import DEMANDS
from gpudoctor.requirements.evaluate import UnmetDemand
from tests.builders import nvidia_host, plain_host
from tests.checks.nvidia_machines import versions

PAGE = Path(__file__).resolve().parent.parent / "docs" / "library.md"


def test_check_takes_plain_arguments() -> None:
    report = gpudoctor.check(only="driver", skip=["driver.cuda-error"], quick=True)
    checks = [one.check for one in report.findings] + [one.check for one in report.unknown]
    assert {check.split(".")[0] for check in checks} <= {"driver", "probe"}


def test_an_interpreter_that_is_not_there() -> None:
    with pytest.raises(Exception, match="/nowhere/python"):
        gpudoctor.check(python="/nowhere/python", quick=True)


def test_paths_and_numbers_are_taken_as_they_are() -> None:
    own = Path(sys.executable)
    assert gpudoctor.gather(python=own, quick=True).pythons[0].path == str(own)
    assert gpudoctor.gather(python=[own], quick=True).pythons[0].path == str(own)
    with pytest.raises(gpudoctor.ChoiceError, match="99"):
        gpudoctor.smoke("matmul", device=99)


@pytest.mark.parametrize("call", [gpudoctor.check, gpudoctor.gather, gpudoctor.smoke, gpudoctor.require])
def test_a_time_that_is_none_is_refused(call: Any) -> None:
    with pytest.raises(ValueError, match="timeout must be a positive number of seconds, not -1"):
        call(timeout=-1)


@pytest.mark.parametrize("one", [library_mismatch, library_mismatch.library_mismatch, "driver.library-mismatch"])
def test_a_single_check_is_asked(one: Any) -> None:
    (verdict,) = gpudoctor.run(one, versions("570.133.07", "570.169", "570.169"))
    assert verdict.outcome is gpudoctor.Outcome.PROBLEM


def test_what_is_no_check() -> None:
    with pytest.raises(TypeError, match=r"gpudoctor\.checks\.driver contains no check"):
        gpudoctor.run(driver, nvidia_host())
    with pytest.raises(ValueError, match=r"driver\.library-mismatch"):
        gpudoctor.run("driver.library-mismatc", nvidia_host())


def test_a_smoke_test_without_any_framework() -> None:
    report = gpudoctor.smoke("matmul", backend="cpu", dtype="fp32")
    (run,) = report.smoke
    assert [(one.test, one.variant, one.outcome) for one in run.tests] == [("matmul", "fp32", "done")], run
    assert callable(gpudoctor.smoke)  # and no package took its name


@pytest.mark.parametrize("names", [("matmul", "bandwidth"), (["matmul", "bandwidth"],), ("matmul", ["bandwidth"])])
def test_several_smoke_tests_by_name(names: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("gpudoctor.pipeline.check", lambda machine, options: asked.append(options.smoke))
    gpudoctor.smoke(*names)
    assert [choice.tests for choice in asked] == [("matmul", "bandwidth")]


def test_a_smoke_test_that_is_not_there() -> None:
    with pytest.raises(gpudoctor.ChoiceError, match="matmull"):
        gpudoctor.smoke("matmull")


def test_a_report_is_short_in_a_shell_and_whole_when_printed() -> None:
    report = gpudoctor.check(facts=demo.load("mismatch"))
    assert repr(report) == "<Report fail: driver.library-mismatch>"
    assert str(report) == text.render(report)
    assert repr(Report(status="pass")) == "<Report pass>"
    many = Report(status="warn", findings=report.findings * 5)
    assert repr(many) == f"<Report warn: {', '.join(['driver.library-mismatch'] * 3)} and 2 more>"


def test_dir_lists_what_is_public_and_nothing_else() -> None:
    """Whatever was loaded before: a completion must not offer inner modules."""
    code = "import gpudoctor, gpudoctor.library, gpudoctor.report.renderers.text as t; print(*dir(gpudoctor))"
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ended.stdout.split() == gpudoctor.__all__
    assert {"check", "gather", "require", "run", "smoke", "record", "Report", "Outcome", "Verdict"} <= set(
        dir(gpudoctor)
    )


def test_several_threads_at_once() -> None:
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(gpudoctor.gather(quick=True).schema)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == ["gpudoctor.facts/1"] * 3


def test_nothing_changes_in_the_process_that_asks() -> None:
    code = (
        "import os, signal, sys, threading\n"
        "def state(): return (dict(os.environ), os.getcwd(), os.umask(0o22),\n"
        "    [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGHUP)],\n"
        "    sys.getswitchinterval(), threading.active_count())\n"
        "before = state()\n"
        "import gpudoctor\n"
        "gpudoctor.check(quick=True)\n"
        "assert state() == before, (before, state())\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PAGE.parent.parent)


def test_the_page_names_every_demand() -> None:
    text = PAGE.read_text()
    assert [name for name in DEMANDS if f"`{name}`" not in text and not name.startswith("matmul")] == []


def table(head: str) -> list[list[str]]:
    """The cells of the rows of the page's table that begins so."""
    rows = PAGE.read_text().partition(f"| {head} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def in_code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_every_call_of_the_page_fits_its_function() -> None:
    named = [code for row in table("Call") for cell in row for code in in_code(cell) if code.endswith(")")]
    calls = [ast.parse(code.replace(", ...)", ")"), mode="eval").body for code in named]
    assert len(calls) > 6
    for call in calls:
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Name)
        function = getattr(gpudoctor, call.func.id)
        inspect.signature(function).bind(*call.args, **{str(word.arg): word.value for word in call.keywords})


def test_the_page_names_every_action_outcome_and_attribute() -> None:
    actions = [name for row in table("`fix.action`") for name in in_code(row[0])]
    assert actions == [*get_args(Action), "None"]
    outcomes = [in_code(row[0]) + in_code(row[1]) for row in table("`gpudoctor.Outcome`")]
    assert outcomes == [[one.name, one.value] for one in gpudoctor.Outcome]
    report = Report()
    assert [name for row in table("Attribute") for name in in_code(row[0]) if not hasattr(report, name)] == []
    fields = {*Fix.__struct_fields__, *Verdict.__struct_fields__, *UnmetDemand._fields} - {
        "planned"
    }  # `fixes` has those
    assert [field for field in fields if f"`{field}`" not in PAGE.read_text()] == []


@pytest.mark.parametrize("name", sorted(set(gpudoctor.__all__) - {"__version__"}))
def test_each_public_name_has_help_whose_types_can_be_read(name: str) -> None:
    """Tools evaluate annotations: pydoc, IDEs, typeguard."""
    one = getattr(gpudoctor, name)
    pydoc.render_doc(one)
    if inspect.isroutine(one) or inspect.isclass(one):
        inspect.get_annotations(one, eval_str=True)
        get_type_hints(one)


def test_help_on_the_package() -> None:
    code = "import gpudoctor; help(gpudoctor)"
    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "require(" in ended.stdout


WRONG: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (gpudoctor.require, {"gpus": -1}, ValueError, "gpus takes a number from 0 on, not -1"),
    (gpudoctor.require, {"memory_gib": float("nan")}, TypeError, "memory_gib takes a number, not nan"),
    (gpudoctor.require, {"gpuz": 1}, TypeError, "Did you mean gpu or gpus?"),
    (gpudoctor.check, {"quick": 1}, TypeError, "quick takes True or False, not 1"),
    (gpudoctor.gather, {"quick": "yes"}, TypeError, "quick takes True or False, not 'yes'"),
    (gpudoctor.check, {"timeout": "x"}, TypeError, "timeout takes a number of seconds, not 'x'"),
    (gpudoctor.check, {"timeout": float("nan")}, ValueError, "timeout must be a positive number of seconds, not nan"),
    (gpudoctor.check, {"facts": 1}, TypeError, "facts takes Facts"),
    (gpudoctor.check, {"facts": "/nowhere/host.json"}, gpudoctor.FactsFileError, "/nowhere/host.json cannot be read"),
    (gpudoctor.check, {"options": {}}, TypeError, "options takes CheckOptions"),
    (gpudoctor.check, {"only": 1}, TypeError, "Texts or paths are expected, not 1"),
    (gpudoctor.check, {"only": "drivr"}, gpudoctor.SelectionError, "drivr"),
    (gpudoctor.check, {"python": "/nowhere/python"}, gpudoctor.InterpreterError, "/nowhere/python"),
    (gpudoctor.run, {"one": 1}, TypeError, "A check, its module or its id is expected"),
]


@pytest.mark.parametrize(("call", "arguments", "kind", "sentence"), WRONG)
def test_what_cannot_be_is_refused(call: Any, arguments: Any, kind: type[Exception], sentence: str) -> None:
    with pytest.raises(kind, match=re.escape(sentence)):
        call(**arguments)


def test_a_facts_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "host.json"
    file.write_bytes(msgspec.json.encode(demo.load("mismatch")))
    for given in (file, str(file)):
        assert gpudoctor.check(facts=given).findings[0].check == "driver.library-mismatch"
    (verdict,) = gpudoctor.run("driver.library-mismatch", file)
    assert verdict.outcome is gpudoctor.Outcome.PROBLEM
    with pytest.raises(gpudoctor.RequirementError):
        gpudoctor.require(facts=file)


def test_a_machine_without_a_gpu_passes_no_gate() -> None:
    report = gpudoctor.check(facts=plain_host())
    assert report.status == "no-gpu"
    with pytest.raises(gpudoctor.FailuresError, match=r"[Nn]o GPU"):
        report.raise_for_failures()
    with pytest.raises(gpudoctor.RequirementError, match="gpus: expected at least 1"):
        gpudoctor.require(facts=plain_host())
    assert gpudoctor.require(facts=nvidia_host()).status == "pass"
