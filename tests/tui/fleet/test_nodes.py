"""Tests of the nodes and their states."""

import pytest

from gpudoctor.fleet.summary import REPORTED, STATES, Fleet
from gpudoctor.tui.fleet.nodes import Nodes
from gpudoctor.tui.fleet.states import LOOKS, look, ranked

NODES = Nodes(Fleet(states={"fail": "node[1-2],rack-b7", "pass": "node[3-12]"}))


def test_nodes_are_in_the_order_in_which_people_count() -> None:
    assert NODES.names == (*(f"node{number}" for number in range(1, 13)), "rack-b7")
    assert (NODES.states[0], NODES.states[2], NODES.states[-1]) == ("fail", "pass", "fail")
    assert NODES.widest == 7


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("", set()),
        ("rack", {"rack-b7"}),
        ("RACK", {"rack-b7"}),
        ("ode1", {"node1", "node10", "node11", "node12"}),
        ("node[2-3,99]", {"node2", "node3"}),
        ("node[11-", set()),
        ("node9,rack-b7", {"node9", "rack-b7"}),
        ("none", set()),
    ],
)
def test_nodes_are_found_by_a_part_of_the_name_or_by_a_set(words: str, names: set[str]) -> None:
    assert {NODES.names[place] for place in NODES.found(words)} == names


def test_a_set_means_places_and_places_a_set() -> None:
    assert NODES.of("node[1-2]") == NODES.of("node[1-2]") == {0, 1}
    assert NODES.of("elsewhere") == frozenset()
    assert NODES.folded([2, 0, 1]) == "node[1-3]"
    assert (NODES.place("node3"), NODES.place("none")) == (2, None)


def test_a_name_that_looks_like_a_set_is_one_node() -> None:
    nodes = Nodes(Fleet(states={"fail": "gpu[1-8]", "pass": "gpu1"}, counts={"fail": 1, "pass": 1}))
    assert nodes.names == ("gpu1", "gpu[1-8]")
    assert nodes.of("gpu[1-8]", 1) == {1}


def test_a_name_that_is_no_set_is_a_node_all_the_same() -> None:
    nodes = Nodes(Fleet(states={"fail": "a[b,c", "pass": ""}))
    assert nodes.names == ("a[b", "c")
    assert nodes.of("a[b,c") == {0, 1}


def test_each_state_has_a_letter_of_its_own() -> None:
    assert list(LOOKS) == list(STATES)
    assert len({one.letter for one in LOOKS.values()}) == len(LOOKS)
    assert set(REPORTED) < set(LOOKS)


def test_a_state_of_a_later_release_is_named() -> None:
    assert look("asleep\n[b]") == ("+", "open", "asleep [b]")
    assert ranked({"pass": 1, "asleep": 2, "fail": 3}) == ["fail", "pass", "asleep"]


def test_a_node_without_a_gpu_is_marked() -> None:
    assert (look("no-gpu").letter, look("no-gpu").words) == ("G", "NO GPU")
