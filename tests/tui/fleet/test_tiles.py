"""Tests of the grid's geometry and of its lines."""

import pytest
from rich.cells import cell_len

from gpudoctor.fleet.summary import Fleet
from gpudoctor.tui.fleet.grid_layout import Layout, Marks, fitted, layout, line
from gpudoctor.tui.fleet.nodes import Nodes
from tests.fleet.fleets import FLEETS


@pytest.mark.parametrize(
    ("count", "longest", "size", "wanted"),
    [
        (12, 7, (60, 10), Layout(12, 6, 10, named=True)),
        (40, 7, (38, 10), Layout(40, 10, 2, 8)),
        (1000, 8, (64, 10), Layout(1000, 50, 1, 9)),
        (10_000, 9, (110, 40), Layout(10_000, 90, 1, 10)),
        (10_000, 9, (12, 5), Layout(10_000, 10, 1, 0)),
        (9, 40, (8, 3), Layout(9, 4, 2, 0)),
        (0, 0, (40, 5), Layout(0, 13, 3, named=True)),
    ],
)
def test_the_roomiest_way_in_which_all_is_in_sight(
    count: int, longest: int, size: tuple[int, int], wanted: Layout
) -> None:
    assert layout(count, longest, *size) == wanted


@pytest.mark.parametrize("count", [1, 7, 10, 11, 99, 1000])
@pytest.mark.parametrize("size", [(20, 4), (38, 12), (64, 30), (120, 50)])
def test_the_mouse_finds_each_node_where_it_is_drawn(count: int, size: tuple[int, int]) -> None:
    nodes = Nodes(Fleet(states={"pass": f"node[1-{count}]"}))
    how = layout(count, nodes.widest, *size)
    found = set()
    for row in range(how.rows):
        cells = "".join(text for text, _ in line(nodes, how, row, Marks(-1)))
        assert cell_len(cells) <= size[0]
        for x, sign in enumerate(cells):
            node = how.at(x, row)
            if x >= how.label and sign == "·":
                assert node is not None
                found.add(node)
            elif x < how.label:
                assert node is None
    assert found == set(range(count))


@pytest.mark.parametrize("place", [(-1, 0), (0, -1), (9 + 10, 0), (9 + 21, 0), (9 + 5, 99)])
def test_beside_the_nodes_there_is_none(place: tuple[int, int]) -> None:
    assert Layout(40, 20, 1, 9).at(*place) is None


def test_a_line_has_its_first_node_s_name_gaps_and_letters() -> None:
    nodes = Nodes(Fleet(states={"fail": "n01", "warn": "n[02-03]", "pass": "n[04-12]"}))
    how = Layout(12, 20, 1, 4)
    assert line(nodes, how, 0, Marks(3)) == [
        ("n01 ", "label"),
        ("F", "fail"),
        ("WW", "warn"),
        ("·", "cursor"),
        ("······", "pass"),
        (" ", "gap"),
        ("··", "pass"),
    ]
    assert line(nodes, how, 1, Marks(0)) == []


def test_what_is_marked_stands_out_and_the_rest_steps_back() -> None:
    nodes = Nodes(Fleet(states={"fail": "n[1-2]", "pass": "n3"}))
    marks = Marks(2, frozenset([0]))
    assert line(nodes, Layout(3, 10, 2), 0, marks) == [("F ", "lit fail"), ("F ", "unlit fail"), ("· ", "cursor")]


def test_few_nodes_have_their_names() -> None:
    nodes = Nodes(Fleet(states={"fail": "n1", "pass": "n2"}))
    drawn = line(nodes, Layout(2, 4, 5, named=True), 0, Marks(1))
    assert drawn == [("F n1", "fail"), (" ", "gap"), ("· n2", "cursor"), (" ", "gap")]


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [
        ("node1", 7, "node1  "),
        ("a-very-long-name-017", 8, "…ame-017"),
        ("漢字漢字", 6, "…漢字 "),
        ("a\nb\x1b", 8, "a b\\x1b "),
        ("abc", 1, "…"),
    ],
)
def test_a_long_name_keeps_its_end(name: str, width: int, shown: str) -> None:
    found = fitted(name, width)
    assert found == shown
    assert cell_len(found) == width


def test_wicked_names_stay_in_their_lines() -> None:
    nodes = Nodes(FLEETS["hostile"])
    how = layout(len(nodes.names), nodes.widest, 60, 10)
    for row in range(how.rows):
        text = "".join(text for text, _ in line(nodes, how, row, Marks()))
        assert text.isprintable()
        assert cell_len(text) <= 60
