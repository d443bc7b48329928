"""All that is known of a fleet together: a link that is bad makes its nodes ill, whatever they say of themselves."""

from pathlib import Path

import msgspec
import pytest

from gpudoctor.fleet.aggregate import summarize as module
from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
from gpudoctor.fleet.aggregate.report_sources import SourceError
from gpudoctor.fleet.aggregate.summarize import judged, together
from gpudoctor.fleet.runner.pairs import PairLink
from gpudoctor.fleet.summary import Cause, Fleet
from tests.fleet.aggregate.reports import report


def cause(status: str, nodes: str) -> Cause:
    return Cause(
        check="a.b",
        status=status,
        title="t",
        cause="c",
        message="s",
        example="n",
        nodes=nodes,
        count=len(unfolded(nodes)),
    )


@pytest.mark.parametrize(
    ("before", "causes", "after"),
    [
        ({"pass": "n[1-9]"}, [("fail", "n[3-4]")], {"fail": "n[3-4]", "pass": "n[1-2,5-9]"}),
        ({"pass": "n[1-9]"}, [("warn", "n3")], {"warn": "n3", "pass": "n[1-2,4-9]"}),
        ({"pass": "n[1-3]"}, [("warn", "n[1-2]"), ("fail", "n2")], {"fail": "n2", "warn": "n1", "pass": "n3"}),
        ({"warn": "n1", "pass": "n2"}, [("fail", "n1")], {"fail": "n1", "pass": "n2"}),
        ({"warn": "n1", "pass": "n2"}, [("warn", "n1")], {"warn": "n1", "pass": "n2"}),
        ({"unreachable": "n1", "incomplete": "n2"}, [("fail", "n[1-2]")], {"incomplete": "n2", "unreachable": "n1"}),
        ({"pass": "n1"}, [("advice", "n1")], {"pass": "n1"}),
        ({"pass": "n1"}, [("fail", "n1")], {"fail": "n1"}),
    ],
)
def test_a_node_is_as_ill_as_the_worst_cause(
    before: dict[str, str], causes: list[tuple[str, str]], after: dict[str, str]
) -> None:
    counts = {state: len(unfolded(nodes)) for state, nodes in before.items()}
    made = judged(Fleet(states=before, counts=counts, causes=tuple(cause(*one) for one in causes)))
    assert made.states == after
    if after != before:
        assert sum(made.counts.values()) == _size(after)


def _size(states: dict[str, str]) -> int:
    return sum(len(unfolded(folded)) for folded in states.values())


def test_a_bad_link_between_nodes_that_are_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for node in ("n1", "n2", "n3"):
        (tmp_path / f"{node}.json").write_bytes(msgspec.json.encode(report()))
    assert together([str(tmp_path)]).states == {"pass": "n[1-3]"}

    def linked(fleet: Fleet, *_: object) -> Fleet:
        return msgspec.structs.replace(fleet, causes=(cause("fail", "n[1-2]"),))

    monkeypatch.setattr(module, "with_links", linked)
    made = together([str(tmp_path)])
    assert (made.states, made.counts) == ({"fail": "n[1-2]", "pass": "n3"}, {"fail": 2, "pass": 1})
    assert together([str(tmp_path)], only={"n3"}).total == 1
    with pytest.raises(SourceError):
        together([str(tmp_path / "none")])


def test_a_run_that_is_named_twice_has_each_link_once(tmp_path: Path) -> None:
    reports, pairs = tmp_path / "run" / "reports", tmp_path / "run" / "pairs"
    for folder in (reports, pairs):
        folder.mkdir(parents=True)
    (tmp_path / "run" / "ledger.jsonl").write_text("")
    for node in ("a", "b"):
        (reports / f"{node}.json").write_bytes(msgspec.json.encode(report()))
    (pairs / "1-a-b.json").write_bytes(msgspec.json.encode(PairLink(round=1, nodes=("a", "b"), error="a: no route")))
    (once,) = together([str(tmp_path / "run")]).causes
    assert "whether the link or a or b is at fault" in once.cause
    for more in (reports, tmp_path / "run", tmp_path / "run" / "." / "reports"):
        assert together([str(tmp_path / "run"), str(more)]).causes == (once,)
