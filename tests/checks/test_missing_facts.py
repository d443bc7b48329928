"""Where one fact is missing, no check breaks, and no sentence shows a hole or the program's insides.

The facts are those of this folder's own tests: each check is asked again about what it found a problem in, without one
of the parts that it read. By default each part of each check is missing once; with GPUDOCTOR_FUZZ=all in each of them.
"""

import os
from collections.abc import Iterator

import pytest

from gpudoctor import catalogue, check_engine
from gpudoctor.areas import finding_nothing
from gpudoctor.check_engine import Outcome, Verdict
from gpudoctor.facts import Facts
from tests.checks.rows import problems
from tests.missing import Reads, fault, gaps, sentences

EVERYTHING = os.environ.get("GPUDOCTOR_FUZZ") == "all"


@pytest.mark.timeout(3600)  # with GPUDOCTOR_FUZZ=all, some minutes
def test_no_check_shows_that_a_fact_is_missing() -> None:
    pairs = problems()
    assert {one.id for one, _ in pairs} >= set(catalogue.ids())
    done: set[object] = set()
    faults: dict[tuple[str, str], str] = {}
    for one, facts in pairs:
        with pytest.MonkeyPatch.context() as patch:
            reads = Reads(patch)
            plain = check_engine.run(one, facts)
        verbatim = {text for verdict in plain for text, _ in sentences(verdict)}
        outcomes = tuple(verdict.outcome for verdict in plain)
        for gap in gaps(facts, reads.found):
            case = (one.id, gap.shape, repr(gap.value), outcomes)
            if case in done and not EVERYTHING:
                continue
            done.add(case)
            without = gap.in_(facts)
            verdicts = check_engine.run(one, without)
            for what in (*_faults(verdicts, verbatim), *_unread(verdicts, without)):
                faults.setdefault((one.id, what), f"{one.id}: {what} ({gap})")
    assert len(done) > 5000
    assert list(faults.values()) == []


def _unread(verdicts: list[Verdict], facts: Facts) -> Iterator[str]:
    """Hold that a check is read where it finds something, or cannot know: `only_with` is wrong otherwise."""
    asked = [one.check.id for one in verdicts if one.outcome not in (Outcome.PASS, Outcome.SKIPPED)]
    if asked and finding_nothing(facts)(asked[0]) is not None:
        yield "finds something, and is not read"


def _faults(verdicts: list[Verdict], verbatim: set[str]) -> Iterator[str]:
    for verdict in verdicts:
        if verdict.outcome is Outcome.BROKEN:
            yield f"broken: {verdict.message}"
            continue
        for text, command in sentences(verdict):
            found = None if text in verbatim else fault(text, command)
            if found:
                yield f"{found}: {text!r}"
