"""The pages of checks: what `explain` prints, and that docs/ holds what would be generated now."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import gpudoctor
from gpudoctor.check_engine import Check, Fix, Severity
from gpudoctor.check_pages import check_head, check_markdown, check_page
from gpudoctor.facts import Facts
from gpudoctor.report.model import FindingEntry, FixEntry
from gpudoctor.targets import machine
from gpudoctor.tasks import cmd

ROOT = Path(gpudoctor.__file__).parent.parent


def not_plugged(_: Facts) -> None:
    """Stand for a check; its id comes from this module."""


TEXTS = {
    "title": "The GPU's <power> cable is not plugged",
    "severity": Severity.WARNING,
    "cause": "Somebody forgot *the* cable, and `nvidia-smi` says so in a sentence that is longer than a line.",
    "references": ("https://example.org/a_b",),
    "targets": machine,
    "caused_by": ("device.none", "driver.*"),
    "affects": ("wheels", "containers"),
    "validated_on": ("simulated 2026-11", "hardware 2026-12"),
    "aliases": ("power.cable",),
}
FIX = Fix("Plug it.", (cmd("plug", "--in"), cmd("plug", "--test")), root=True)
ONE: Check[Facts] = Check(not_plugged, fixes=(FIX,), **TEXTS)  # type: ignore[arg-type]
MOVING: Check[Facts] = Check(not_plugged, fixes=lambda _: (FIX,), deprecated="See tests.x.", **TEXTS)  # type: ignore[arg-type]


def test_the_page_that_explain_prints() -> None:
    assert (
        f"{check_head(ONE, width=60)}\n{check_page(ONE, width=60)}"
        == """\
The GPU's <power> cable is not plugged
======================================

Somebody forgot *the* cable, and `nvidia-smi` says so in a
sentence that is longer than a line.

id            tests.test-check-pages
severity      warn: works, but badly or not for long
affects       wheels, containers
caused by     device.none, driver.*
former IDs    power.cable

Fixes
  - Plug it.
      plug --in
      plug --test

Sources
  https://example.org/a_b
"""
    )


def test_the_page_in_markdown() -> None:
    assert (
        check_markdown(ONE)
        == """\
# tests.test-check-pages

**The GPU's \\<power> cable is not plugged**

Somebody forgot \\*the\\* cable, and `nvidia-smi` says so in a sentence that is longer than a line.

| | |
|---|---|
| id | `tests.test-check-pages` |
| severity | warn: works, but badly or not for long |
| affects | wheels, containers |
| caused by | [`device.none`](../device/none.md), [`driver.*`](../README.md#driver) |
| validated on | simulated 2026-11; hardware 2026-12 |
| former IDs | `power.cable` |

## Fixes

- Plug it.

    ```sh
    plug --in
    plug --test
    ```

## Sources

- <https://example.org/a_b>
"""
    )


def test_fixes_that_depend_on_the_machine_are_not_guessed() -> None:
    assert "`gpudoctor check` prints the commands." in check_page(MOVING)
    assert "`gpudoctor check` prints them." in check_markdown(MOVING)
    assert "deprecated    See tests.x." in check_page(MOVING)


@pytest.mark.parametrize("width", [40, 60, 100])
def test_prose_fits_the_width(width: int) -> None:
    page = check_head(ONE, width) + check_page(ONE, width)
    lines = [line for line in page.splitlines() if not line.startswith("  http")]
    assert max(map(len, lines)) <= width


def _generator() -> ModuleType:
    path = ROOT / "docs" / "generate.py"
    if not path.is_file():
        pytest.skip("not run from a source tree")
    spec = importlib.util.spec_from_file_location("docs_generate", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_pages_are_fresh() -> None:
    assert _generator().stale() == [], "run python docs/generate.py"


def test_links_between_pages_lead_somewhere() -> None:
    for name, text in _generator().pages().items():
        for target in re.findall(r"\]\(([^)#:]+)[)#]", text):
            assert (ROOT / "docs" / name).parent.joinpath(target).exists(), f"{name} links to {target}"


def test_the_page_of_each_check_names_its_rule_its_tests_and_its_probes() -> None:
    for name, text in _generator().pages().items():
        if name.count("/") == 2:
            code = text.partition("\n## In the code\n")[2]
            assert f"- Rule: [`{name.removesuffix('.md').replace('-', '_')}.py`]" in code
            assert re.search(r"^- Tests: \[`tests/checks/[\w/]*test_\w+\.py`\]", code, re.M), name
            assert re.search(r"^    - `[\w.]+`: \[`gpudoctor/(probes|smoketests)\b", code, re.M), name


def test_links_of_the_written_pages_lead_somewhere() -> None:
    for page in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]:
        for target in re.findall(r"\]\(([^)#:]+)[)#]", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_walk_through_adding_a_check_leads_to_a_check(tmp_path: Path) -> None:
    """The two files of docs/adding-a-check.md, typed into a copy of the tree, make a check that passes its test."""
    text = (ROOT / "docs" / "adding-a-check.md").read_text()
    files = re.findall(r"^`([\w/]+\.py)`:\n\n```python\n(.*?)```", text, re.M | re.S)
    assert [name for name, _ in files] == [
        "checks/device/ecc_change_pending.py",
        "tests/checks/device/test_ecc_change_pending.py",
    ]
    assert [(ROOT / name).read_text(encoding="utf-8") for name, _ in files] == [code for _, code in files]
    for folder in ("checks", "gpudoctor", "tests", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, code in files:
        (tmp_path / name).write_text(code)
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ended = subprocess.run([*run, files[1][0]], capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 0, ended.stdout
    assert "7 passed" in ended.stdout
    lint = [sys.executable, "-m", "ruff", "check", *(name for name, _ in files)]
    assert subprocess.run(lint, cwd=tmp_path, capture_output=True).returncode == 0
    shape = [sys.executable, "-m", "ruff", "format", "--check", *(name for name, _ in files)]
    assert subprocess.run(shape, cwd=tmp_path, capture_output=True).returncode == 0


SEEN = FindingEntry(
    check="x.y",
    status="warn",
    subject="this machine",
    title="The cable is not plugged",
    message="The cable is on the desk.",
    cause="Somebody forgot it.",
    evidence=("PCI: nothing",),
    fixes=(FixEntry("Plug it.", ("plug --in",), verify="plug --test"),),
)
SAMPLES = [("Ubuntu 24.04", SEEN), ("Fedora 43", SEEN)]


def test_fixes_that_depend_on_the_machine_are_shown_of_some() -> None:
    page = check_markdown(MOVING, SAMPLES)
    assert (
        """For example:

### Ubuntu 24.04

```text
WARN      The cable is not plugged
          The cable is on the desk.
evidence  PCI: nothing
```

**Fix:** Plug it.

```sh
plug --in
```

**Verify:**

```sh
plug --test
```

### Fedora 43
"""
        in page
    )
    assert "Somebody forgot it" not in page  # the page has the check's own cause


def test_fixes_that_are_the_same_everywhere_are_listed_once() -> None:
    page = check_markdown(ONE, SAMPLES)
    assert page.count("## Sample output\n\nUbuntu 24.04:\n\n```text\nWARN      The cable") == 1
    assert "Fedora" not in page
    assert "**Fix:**" not in page


def test_each_page_shows_what_its_check_reports() -> None:
    for name, text in _generator().pages().items():
        if name.count("/") == 2:
            assert re.search(r"^```text\n(FAIL|WARN|ADVICE) ", text, re.M), name
