"""Which neighbours sum with each other, and what both sides know together."""

from collections import Counter

import pytest

from gpudoctor.fleet.runner.pairs import PairLink, PairReport, Size, link, plan, waves


@pytest.mark.parametrize("count", range(2, 18))
def test_each_node_sums_with_both_neighbours_and_is_in_one_pair_at_a_time(count: int) -> None:
    names = [f"n{at}" for at in range(count)]
    rounds = plan(names)
    pairs = [pair for one in rounds for pair in one]
    for one in rounds:
        busy = [node for pair in one for node in pair]
        assert len(set(busy)) == len(busy)
    assert len({frozenset(pair) for pair in pairs}) == len(pairs) == (count if count > 2 else 1)
    assert {abs(names.index(a) - names.index(b)) for a, b in pairs} <= {1, count - 1}
    times = Counter(node for pair in pairs for node in pair)
    assert set(times.values()) == {2 if count > 2 else 1}
    assert len(rounds) <= 2 + count % 2


@pytest.mark.parametrize("names", [[], ["n1"]])
def test_who_is_alone_has_no_neighbour(names: list[str]) -> None:
    assert plan(names) == []


def test_both_nodes_of_a_pair_run_at_once() -> None:
    pairs = [(f"a{at}", f"b{at}") for at in range(5)]
    assert waves(pairs, 4) == [pairs[:2], pairs[2:4], pairs[4:]]
    assert waves(pairs, 1) == [[pair] for pair in pairs], "fewer than two cannot be"
    assert waves(pairs, 64) == [pairs]


def _side(node: str, seconds: float, **more: object) -> PairReport:
    sizes = (Size(bytes=4, seconds=seconds / 2, rate=1.0), Size(bytes=8, seconds=seconds, rate=8 / seconds))
    return PairReport(**{"node": node, "library": "gloo", "ranks": 2, "sizes": sizes, **more})  # type: ignore[arg-type]


def test_the_slower_side_is_the_links() -> None:
    one = link(2, ("a", "b"), "2 x H100", {"a": _side("a", 1.0, wrong=3), "b": _side("b", 2.0)}, {"a": "It ended."})
    assert (one.rate, one.error, one.wrong) == (4.0, "", 3)
    assert [size.seconds for size in one.sizes] == [1.0, 2.0]
    assert (one.round, one.nodes, one.hardware, one.library, one.ranks) == (2, ("a", "b"), "2 x H100", "gloo", 2)


@pytest.mark.parametrize(
    ("sides", "ends", "error"),
    [
        ({"a": _side("a", 1.0)}, {"b": "No route to host."}, "b: No route to host."),
        ({}, {"a": "x", "b": "y"}, "a: x; b: y"),
        ({"a": _side("a", 1.0, sizes=(), error="no torch"), "b": _side("b", 1.0)}, {}, "a: no torch"),
        ({}, {}, "a: It sent nothing.; b: It sent nothing."),
        ({"a": _side("a", 1.0, sizes=()), "b": _side("b", 1.0, sizes=())}, {}, "Neither node reports a reason."),
    ],
)
def test_half_a_measurement_is_none(sides: dict[str, PairReport], ends: dict[str, str], error: str) -> None:
    one = link(1, ("a", "b"), "", sides, ends)
    assert (one.rate, one.sizes, one.error) == (None, (), error)
    assert isinstance(one, PairLink)
