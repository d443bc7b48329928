"""What each check was seen on: its mark, the tests that prove it, and the page agree."""

import copy
import re
from pathlib import Path

import pytest

from gpudoctor import catalogue, checks
from scripts import evidence
from scripts.evidence import LEVELS, MARK, Proof, level, marked, marks, proofs

ROOT = Path(__file__).parents[2]
EVERY = catalogue.load(checks.ids())
PAGE = (ROOT / "docs/checks/validated.md").read_text(encoding="utf-8")


def test_each_mark_is_a_level_and_a_month_the_strongest_first() -> None:
    for one in EVERY:
        found = [MARK.fullmatch(text) for text in one.validated_on]
        assert all(found), one.id
        order = [list(LEVELS).index(match[1]) for match in found if match]
        assert order == sorted(set(order)), one.id


def test_the_marks_are_what_the_tests_prove() -> None:
    assert evidence.stale("2026-11") == {}, "run python scripts/evidence.py --write"


@pytest.mark.parametrize(
    ("id_", "proof"),
    [
        ("python.shadowed-module", Proof("environment", "tests/clinic/breakages.toml", repaired=True)),
        ("python.metadata-twice", Proof("environment", "tests/real/test_broken_environments.py", repaired=True)),
        ("driver.not-installed", Proof("environment", "tests/clinic/test_debian.py")),
        ("device.no-gpu", Proof("environment", "tests/real/test_run_frameworks.py")),
        ("wsl.gpu-disabled", Proof("facts", "tests/causes/test_machines.py")),
        ("pytorch.cpu-build", Proof("facts", "tests/machines/recorded.toml")),
    ],
)
def test_what_proves_a_check(id_: str, proof: Proof) -> None:
    assert proof in proofs()[id_]


def test_a_test_that_never_ended_proves_nothing() -> None:
    assert evidence.UNPROVEN in (ROOT / "tests/clinic/test_debian.py").read_text()
    assert "tests/clinic/test_debian.py" not in {proof.file for proof in proofs()["driver.headers-missing"]}


@pytest.mark.parametrize(
    ("id_", "stated", "wanted"),
    [
        ("python.shadowed-module", ("table 2026-10",), ("environment 2026-12",)),
        ("python.shadowed-module", ("simulated 2026-10",), ("environment 2026-12", "simulated 2026-10")),
        ("python.shadowed-module", ("environment 2026-11", "simulated 2026-10"), ()),
        ("python.shadowed-module", ("hardware 2027-01: RTX 4090", "environment 2026-11"), ()),
        ("wsl.gpu-disabled", ("table 2026-10",), ("facts 2026-12",)),
        ("wsl.gpu-disabled", ("simulated 2026-10",), ()),
        ("wsl.gpu-disabled", ("environment 2026-10",), ("facts 2026-12",)),
        ("driver.not-a-check", ("facts 2026-10",), ("table 2026-12",)),
        ("driver.not-a-check", ("table 2026-10",), ()),
    ],
)
def test_what_a_mark_should_be(id_: str, stated: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    one = copy.copy(catalogue.load([id_])[0])
    one.validated_on = stated
    assert marks(one, "2026-12") == (wanted or stated)


def test_a_file_is_marked() -> None:
    text = 'x(\n    validated_on=("table 2026-11",),\n)\n'
    assert marked(text, ("facts 2026-12",)) == 'x(\n    validated_on=("facts 2026-12",),\n)\n'
    two = marked(text, ("environment 2026-12", "simulated 2026-11"))
    assert two == 'x(\n    validated_on=("environment 2026-12", "simulated 2026-11"),\n)\n'
    for wrong in ("", text * 2):
        with pytest.raises(ValueError, match="validated_on stands there"):
            marked(wrong, ("facts 2026-12",))


def test_the_page_lists_each_check_once_under_its_evidence_and_counts_them() -> None:
    parts = re.split(r"\n## (.+)\n", PAGE)
    names = dict(zip(LEVELS, parts[1::2], strict=True))
    for name, body in zip(LEVELS, parts[2::2], strict=True):
        listed = re.findall(r"\[`([a-z-]+\.[a-z0-9-]+)`\]\([a-z]", body)
        assert sorted(listed) == sorted(one.id for one in EVERY if level(one) == name)
        assert re.search(rf"^\| \[{names[name]}\]\(#[a-z-]+\) \| {len(listed)} \|", parts[0], re.M)
    hardware = sum(level(one) == "hardware" for one in EVERY)
    assert f"\n{hardware} of {len(EVERY)} checks were seen to find their problem on real hardware." in parts[0]
