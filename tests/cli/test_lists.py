"""`gpudoctor checks`, `gpudoctor explain`, help and version."""

import json
import re

import pytest

from gpudoctor import __version__, catalogue
from tests.cli.conftest import Run


def test_checks_lists_every_check_by_area(run: Run) -> None:
    ran = run("checks")
    for id_ in catalogue.ids():
        assert f"\n  {id_} " in ran.out
    assert ran.out.endswith(f"{len(catalogue.ids())} checks. Details: `gpudoctor explain ID`\n")
    assert (ran.code, ran.err) == (0, "")


def test_checks_as_json(run: Run) -> None:
    rows = json.loads(run("checks", "acme", "--json").out)
    assert {row["id"]: row["severity"] for row in rows}["acme.warns"] == "warn"
    assert set(rows[0]) >= {"id", "title", "severity", "affects"}
    assert [row["id"] for row in json.loads(run("checks", "--json").out)] == catalogue.ids()


def test_checks_of_one_area_and_of_none(run: Run) -> None:
    assert run("checks", "acme").out.splitlines()[0] == "acme"
    assert "driver." not in run("checks", "acme").out
    assert run("checks", "acme.warns", "acme.well").out.endswith("2 checks. Details: `gpudoctor explain ID`\n")


def test_checks_that_mention_a_text(run: Run) -> None:
    ran = run("checks", "nvlink")
    assert "\n  link.nvlink-down " in ran.out
    assert re.search(r"\n\d+ checks mention nvlink\. Details: `gpudoctor explain ID`\n$", ran.out)
    ran = run("checks", "OUT", "of", "memory")
    assert "\n  smoke.out-of-memory " in ran.out
    assert "mention OUT of memory." in ran.out
    ran = run("checks", "warns one")
    assert ran.out.endswith("\n1 check mentions warns one. Details: `gpudoctor explain ID`\n")
    assert [row["id"] for row in json.loads(run("checks", "warns one", "--json").out)] == ["acme.warns"]


def test_explain(run: Run) -> None:
    ran = run("explain", "acme.fails")
    assert ran.code == 0
    assert ran.out.startswith("The fails one\n=============\n\nBecause.\n\n")
    for line in ("id            acme.fails", "  - Mend it.", "      true", "  https://example.org/"):
        assert f"\n{line}\n" in ran.out


def test_every_check_can_be_explained(run: Run, facts_file: str) -> None:
    for id_ in catalogue.ids():
        ran = run("explain", id_, "--facts", facts_file)
        assert (id_, ran.code) == (id_, 0)
        assert f"\nid            {id_}\n" in ran.out


@pytest.mark.parametrize("line", ["--help", "check --help", "facts --help", "explain --help", "checks -h"])
def test_help(run: Run, line: str) -> None:
    ran = run(*line.split())
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("usage: gpudoctor")


@pytest.mark.parametrize("word", ["--version", "-V", "version"])
def test_version(run: Run, word: str) -> None:
    assert run(word) == (0, f"gpudoctor {__version__}\n", "")
