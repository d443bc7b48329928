"""What a person reads of each machine, and that the healthy ones alarm nobody."""

import os
import re
from pathlib import Path

import pytest

from gpudoctor.pipeline import check
from gpudoctor.report.renderers.text import render
from tests.machines.registry import Machine, machines

TEXTS = Path(__file__).parent / "texts"
# No matter of the machine: how many checks there are, how long they took, and what a machine made by hand leaves open.
COUNTS = re.compile(r"\d+(?= (?:passed|without a finding)\b)|(?<=\()\d+(?= checks\))|(?<=\()\d+\.\d s(?=\))")
UNKNOWN = re.compile(r"\d+ unknown \(--verbose lists them\), ")
EVERY = machines()


def _flat(text: str) -> str:
    """The text with its counts masked; the line of counts is not wrapped, because they change its length."""
    body, mark, end = text.rpartition("\n\n")
    end = UNKNOWN.sub("", " ".join(end.split()))
    return body + mark + COUNTS.sub("N", end) + "\n"


@pytest.mark.parametrize("one", EVERY, ids=[one.name for one in EVERY])
def test_its_text(one: Machine) -> None:
    report = check(facts=one.make())
    path = TEXTS / f"{one.name}.txt"
    text = _flat(render(report, 100))
    if os.environ.get("GPUDOCTOR_TEXTS") == "write":
        path.write_text(text, encoding="utf-8")
    assert report.summary.broken == 0
    if one.root is None:
        assert [f.check for f in report.findings if f.status != "advice"] == []
    else:
        assert report.findings[0].check == one.root
        assert report.findings[0].fixes, "nothing is said that one could do"
    assert text == path.read_text(encoding="utf-8")


def test_every_text_has_its_machine() -> None:
    assert sorted(path.stem for path in TEXTS.iterdir()) == [one.name for one in EVERY]


def test_there_are_enough_of_both() -> None:
    healthy = [one for one in EVERY if one.root is None]
    assert len(EVERY) >= 60
    assert len(healthy) >= 15
