"""Files that the documents name exist: a link is tested elsewhere, a name in backticks only here."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", *sorted((ROOT / "benchmarks").glob("*.md"))]
# Not of this tree: what a user has or writes, and what the walk through adding a check makes.
THEIRS = {"torch.py", "json.py", "train.py", "ecc_change_pending.py", "test_ecc_change_pending.py"}
TREES = ("gpudoctor", "checks", "tests", "docs", "scripts", "benchmarks", "examples")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_each_file_that_is_named_exists(document: Path) -> None:
    named = re.findall(r"`((?!/)[\w./-]+\.(?:py|jinja|txt))`", document.read_text(encoding="utf-8"))
    files = [str(path.relative_to(ROOT)) for tree in TREES for path in (ROOT / tree).rglob("*.*")]
    files += [path.name for path in ROOT.glob("*.*")]
    missing = [n for n in named if Path(n).name not in THEIRS and not any(f"/{f}".endswith(f"/{n}") for f in files)]
    assert missing == []
