"""pytest plugin: `@pytest.mark.needs_gpu(count=2, memory_gib=16)` skips with the reason, `--gpudoctor` diagnoses.

The arguments of the mark are those of `gpudoctor.require`; `count` is another word for `gpus`, and without any argument
one GPU is wanted. A machine is checked once a session, and only where a test asks for it.

pytest loads this module in every project of an environment that has gpudoctor, so it acts on no mark but its own, and
imports the rest of gpudoctor where that mark or `--gpudoctor` is used.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gpudoctor.facts import Facts

MARK = "needs_gpu"
_LINE = (
    f"{MARK}(count=1, memory_gib=..., ...): skip if the machine does not have it; "
    "the arguments of gpudoctor.require, and count for gpus"
)
_FACTS = pytest.StashKey[dict[bool, "Facts"]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("gpudoctor")
    group.addoption("--gpudoctor", action="store_true", help="diagnose the GPUs at the end of a run that failed")
    group.addoption(
        "--gpudoctor-strict",
        action="store_true",
        help=f"fail tests marked {MARK} where the machine does not meet the requirements, instead of skipping them",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark."""
    config.addinivalue_line("markers", _LINE)
    config.stash[_FACTS] = {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test, or fail it, where the machine does not meet its requirements."""
    marks = list(item.iter_markers(MARK))
    if not marks or _is_foreign(item.config):
        return
    for mark in marks:
        try:
            why = missing(item.config, _demands(mark))
        except (TypeError, ValueError) as error:
            pytest.fail(f"mark {MARK}: {error}", pytrace=False)
        if why:
            if item.config.getoption("--gpudoctor-strict"):
                pytest.fail(why, pytrace=False)
            raise pytest.skip.Exception(why, _use_item_location=True)  # at the test, as pytest's own marks are reported


def _is_foreign(config: pytest.Config) -> bool:
    """Whether the project has a mark of this name itself; then the name is the project's."""
    lines = (line for line in config.getini("markers") if line != _LINE)
    return any(line.partition(":")[0].partition("(")[0].strip() == MARK for line in lines)


def _demands(mark: pytest.Mark) -> dict[str, Any]:
    if mark.args:
        raise TypeError(f"It takes keyword arguments, such as {MARK}(count=2), not {mark.args[0]!r}.")
    demands = dict(mark.kwargs)
    if "count" in demands:
        demands["gpus"] = demands.pop("count")
    return {"gpus": 1} | demands


def missing(config: pytest.Config, demands: dict[str, Any]) -> str:
    """Why the machine does not meet the requirements, in one line; "": it does.

    Raises:
        TypeError: there is no such demand, or it wants something of another type.
        ValueError: a version specifier is none.
    """
    from gpudoctor.library import require
    from gpudoctor.requirements.evaluate import RequirementError, validated

    validated(demands)
    try:
        require(facts=_facts(config, quick=not any(name.endswith("_sees") for name in demands)), **demands)
    except RequirementError as error:
        first = error.unmet[0]
        cause = f" ({first.finding.check}: {first.finding.message})" if first.finding else ""
        return f"{first.message}{cause}"
    return ""


def _facts(config: pytest.Config, quick: bool) -> Facts:
    """The machine as it was when the first test asked."""
    known = config.stash[_FACTS]
    if quick not in known:
        from gpudoctor.library import gather

        known[quick] = known.get(False) or gather(python=sys.executable, quick=quick)
    return known[quick]


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    """Print the diagnosis where tests failed and --gpudoctor was given."""
    if not config.getoption("--gpudoctor") or exitstatus != pytest.ExitCode.TESTS_FAILED:
        return
    from gpudoctor.library import check
    from gpudoctor.report.renderers.text import render

    terminalreporter.section("gpudoctor")
    terminalreporter.write_line(render(check(python=sys.executable), terminalreporter._tw.fullwidth))
