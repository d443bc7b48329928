"""The pytest plugin, in real runs of pytest on machines made of facts."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytest_plugins = ["pytester"]

# Puts a recorded machine in this one's place; the plugin asks gpudoctor.library for it.
CONFTEST = """
import gpudoctor.library as library
from tests.checks import healthy_nvidia as nv
from tests.machines import driver

asked = []
def gather(**options):
    asked.append(options)
    return {machine}
library.gather = gather

def pytest_sessionfinish():
    print("ASKED", len(asked))
"""


def run(pytester: pytest.Pytester, machine: str, tests: str, *words: str) -> pytest.RunResult:
    pytester.makeconftest(CONFTEST.replace("{machine}", machine))
    pytester.makepyfile(f"import pytest\n{tests}")
    pytester._monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester._monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others' take longer than all that is tested
    return pytester.runpytest_subprocess("-p", "no:gpudoctor", "-p", "gpudoctor.pytest_plugin", "-rs", "-s", *words)


MARKED = """
@pytest.mark.needs_gpu
def test_one(): pass

@pytest.mark.needs_gpu(count=2, memory_gib=16)
def test_two(): pass

def test_none(): pass
"""


def test_what_the_machine_has_is_run(pytester: pytest.Pytester) -> None:
    result = run(pytester, "nv.several(2)", MARKED)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*ASKED 1"])


def test_what_it_lacks_is_skipped_with_the_reason(pytester: pytest.Pytester) -> None:
    result = run(pytester, "nv.several(1)", MARKED)
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*test_*.py:*gpus: expected at least 2, found usable GPUs: 1.*"])


def test_the_reason_is_the_root_cause(pytester: pytest.Pytester) -> None:
    result = run(pytester, "driver.module_not_loaded()", MARKED)
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(["SKIPPED*(driver.not-loaded: The kernel module nvidia is not loaded*"])


def test_strict_fails_where_a_gpu_has_to_be_there(pytester: pytest.Pytester) -> None:
    result = run(pytester, "nv.several(1)", MARKED, "--gpudoctor-strict")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*gpus: expected at least 2*"])


def test_a_machine_that_nobody_asks_about_is_not_examined(pytester: pytest.Pytester) -> None:
    result = run(pytester, "nv.several(1)", "def test_none(): pass")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*ASKED 0"])


FOREIGN = """
@pytest.mark.gpu
def test_plain(): pass

@pytest.mark.gpu("a100")
def test_with_words(): pass

@pytest.mark.gpu(count=9, type="A10")
def test_with_names(): pass
"""


@pytest.mark.parametrize("words", [[], ["--gpudoctor-strict"]])
def test_the_mark_gpu_of_another_project_is_left_alone(pytester: pytest.Pytester, words: list[str]) -> None:
    result = run(pytester, "nv.several(1)", FOREIGN, *words)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*ASKED 0"])


IN_A_FILE = "[pytest]\nmarkers =\n    needs_gpu(name): which card\n"
IN_A_HOOK = 'def pytest_configure(config): config.addinivalue_line("markers", "needs_gpu: the project\'s own")'


@pytest.mark.parametrize(("settings", "hook"), [(IN_A_FILE, ""), ("", IN_A_HOOK)])
def test_a_mark_that_the_project_registers_is_the_projects(pytester: pytest.Pytester, settings: str, hook: str) -> None:
    if settings:
        pytester.makeini(settings)
    pytester.makepyfile(helper=hook)
    words = ["-p", "helper"] if hook else []
    result = run(pytester, "nv.several(1)", FOREIGN.replace(".gpu", ".needs_gpu"), *words)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*ASKED 0"])


def test_a_session_that_does_not_use_it_loads_the_plugin_alone(pytester: pytest.Pytester) -> None:
    """What is loaded costs every session of every project in the environment."""
    pytester.makeconftest(
        "import sys\ndef pytest_sessionfinish():\n"
        "    print('LOADED', *sorted(name for name in sys.modules if name.startswith('gpudoctor')))"
    )
    pytester.makepyfile(f"import pytest\n{FOREIGN}")
    result = pytester.runpytest_subprocess("-p", "no:gpudoctor", "-p", "gpudoctor.pytest_plugin", "-s")
    result.stdout.fnmatch_lines(["*LOADED gpudoctor gpudoctor.pytest_plugin"])


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("needs_gpu(memory_gb=2)", "*mark needs_gpu: Unknown requirement memory_gb. Did you mean memory_gib?*"),
        ("needs_gpu(2)", "*mark needs_gpu: It takes keyword arguments, such as needs_gpu(count=2), not 2.*"),
        ("needs_gpu(memory_gib='16')", "*mark needs_gpu: memory_gib takes a number, not '16'.*"),
    ],
)
def test_a_mark_that_is_wrong_is_no_skip(pytester: pytest.Pytester, mark: str, message: str) -> None:
    result = run(pytester, "nv.several(1)", f"@pytest.mark.{mark}\ndef test_one(): pass")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


def test_a_diagnosis_ends_a_run_that_failed(pytester: pytest.Pytester) -> None:
    tests = "def test_fails(): assert 0"
    result = run(pytester, "nv.several(1)", tests, "--gpudoctor")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*= gpudoctor =*", "gpudoctor*", "machine *"])


@pytest.mark.parametrize(
    ("tests", "words"), [("def test_passes(): pass", ["--gpudoctor"]), ("def test_fails(): assert 0", [])]
)
def test_no_diagnosis_where_nothing_failed_or_nobody_wants_it(
    pytester: pytest.Pytester, tests: str, words: list[str]
) -> None:
    result = run(pytester, "nv.several(1)", tests, *words)
    result.stdout.no_fnmatch_line("*= gpudoctor =*")
