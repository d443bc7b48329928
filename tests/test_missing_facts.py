"""Where one fact of a whole machine is missing, no report and no plan breaks, and none shows the program's insides.

By default half of the parts, the same ones in each run, are missing on some machine once; with GPUDOCTOR_FUZZ=all each
of them on each machine.
"""

import os
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from gpudoctor import demo
from gpudoctor.facts import Facts
from gpudoctor.report.build import build
from gpudoctor.report.formats import FORMATS
from gpudoctor.report.renderers import html
from gpudoctor.setup import text as setup_text
from gpudoctor.setup.planner import plan
from gpudoctor.setup.request import SetupRequest
from tests.machines.registry import machines
from tests.missing import CODE, FAULTS, Reads, fault, gaps

EVERYTHING = os.environ.get("GPUDOCTOR_FUZZ") == "all"
WISHES = SetupRequest(frameworks=("torch", "tensorflow", "jax"))
TAG = re.compile(r"<[^>]*>")


def _reports(facts: Facts) -> Iterator[str]:
    """A report without findings: the machine, and what is known of it."""
    report = build(facts, ())
    yield from (one.render()(report) for name, one in FORMATS.items() if EVERYTHING or name == "text")
    yield TAG.sub(" ", html.render(report, facts))


def _plans(facts: Facts) -> Iterator[str]:
    """The plan of what is to be installed."""
    yield setup_text.render(plan(facts, WISHES))


def _strings(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        yield from (text for member in node.values() for text in _strings(member))
    elif isinstance(node, list):
        yield from (text for member in node for text in _strings(member))


def _sentences(facts: Facts) -> Iterator[str]:
    """The texts of the report and of the plan themselves: no columns there, so that a hole can be seen."""
    yield from _strings(msgspec.to_builtins(build(facts, ())))
    yield from _strings(msgspec.to_builtins(plan(facts, WISHES)))


@pytest.mark.timeout(3600)  # with GPUDOCTOR_FUZZ=all, half an hour
@pytest.mark.parametrize("made", [_reports, _plans, _sentences])
def test_no_page_shows_that_a_fact_is_missing(made: Callable[[Facts], Iterator[str]]) -> None:
    done: set[object] = set()
    some = random.Random(0)
    faults = []
    shown = [demo.load(name) for name in ("bad-link", "cpu-wheel", "mismatch")]
    for facts in [*shown, *(one.make() for one in machines())]:
        with pytest.MonkeyPatch.context() as patch:
            reads = Reads(patch)
            plain = set(made(facts))
        for gap in gaps(facts, reads.found):
            case = (gap.shape, repr(gap.value))
            if case in done and not EVERYTHING:
                continue
            done.add(case)
            if EVERYTHING or some.random() < 0.5:
                texts = set(made(gap.in_(facts))) - plain
                faults += [f"{gap}: {found}" for text in texts if (found := _fault(text, made is _sentences))]
    assert len(done) > 50
    assert faults == []


def _fault(text: str, prose: bool) -> str | None:
    if prose:
        found = fault(text)
        return f"{found}: {text}" if found else None
    hits = (FAULTS[name].search(text) for name in CODE)
    return next((f"...{text[max(0, hit.start() - 60) : hit.end() + 40]}..." for hit in hits if hit), None)
