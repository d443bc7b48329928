"""Each Python block of the documentation runs, in the order in which a reader types them."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import gpudoctor
from tests.docs import ROOT, Block, blocks

# What runs elsewhere, and where.
ELSEWHERE = {
    "docs/adding-a-check.md": "tests/test_check_pages.py types both files into a copy of the tree",
}
PAGES = {page: list(found) for page, found in groupby(blocks("python"), lambda block: block.page)}


HEALTHY = "hgx-h100"
pytest_plugins = ["pytester"]


def public_errors() -> Iterator[str]:
    yield from (f"gpudoctor.{name}" for name in gpudoctor.__all__ if name.endswith("Error"))


def test_there_are_blocks_and_what_runs_elsewhere_is_there() -> None:
    assert {"docs/library.md", "docs/expectations.md", *ELSEWHERE} == set(PAGES)
    assert "adding-a-check.md" in (ROOT / "tests/test_check_pages.py").read_text()


@pytest.mark.parametrize(
    ("page", "recorded"),
    [
        ("docs/library.md", "upgraded-under-a-running-kernel"),
        ("docs/library.md", HEALTHY),
        ("docs/expectations.md", HEALTHY),
    ],
    indirect=["recorded"],
)
def test_the_blocks_of_a_page_run(page: str, recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for block in PAGES[page]:
        run(block, names)
    assert isinstance(names["gpudoctor"], ModuleType)
    assert capsys.readouterr().err == ""


def run(block: Block, names: dict[str, Any]) -> None:
    """Run it; it may end in an error that it names itself."""
    code = compile("\n" * (block.line - 1) + block.text, block.page, "exec")
    try:
        exec(code, names)
    except Exception as error:
        allowed = [name for name in public_errors() if name in block.text]
        if f"gpudoctor.{type(error).__name__}" not in allowed:
            raise


def test_what_the_page_on_the_library_prints(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a machine whose driver was upgraded under the running kernel."""
    names: dict[str, Any] = {}
    reported = []
    for block in PAGES["docs/library.md"][:4]:
        run(block, names)
        reported.append(capsys.readouterr().out)
    first, script, demands, single = reported
    assert first.startswith("fail driver.library-mismatch The loaded kernel module")
    assert "('sudo reboot',) True nvidia-smi" in first
    assert script == "shutdown -r +1\n"
    assert "gpus: expected at least 8" in demands
    assert "torch_sees False [('sudo reboot',)" in demands
    assert single.startswith("fail The loaded kernel module")


def test_the_mark_of_the_page_is_taken(pytester: pytest.Pytester) -> None:
    (block,) = (one for one in PAGES["docs/library.md"] if "pytest" in one.text)
    pytester.makeconftest(
        "import gpudoctor.library as library\n"
        "from gpudoctor import demo\n"
        "library.gather = lambda **options: demo.load('mismatch')\n"
    )
    pytester.makepyfile(block.text)
    result = pytester.runpytest_subprocess("-p", "no:gpudoctor", "-p", "gpudoctor.pytest_plugin", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*gpus: expected at least 2*driver.library-mismatch*"])
