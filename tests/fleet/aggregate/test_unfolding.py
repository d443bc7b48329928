"""Folded texts back to names: as they were folded, and no joke makes a million of one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.fleet.aggregate.nodeset_expansion import counted, shortened, unfolded
from gpudoctor.fleet.nodesets import fold


@pytest.mark.parametrize(
    ("folded", "names"),
    [
        ("", []),
        ("node1", ["node1"]),
        ("node[008-011,140]", ["node008", "node009", "node010", "node011", "node140"]),
        ("n[9-11],login", ["n9", "n10", "n11", "login"]),
        ("r[1-2]-n[1-2].x", ["r1-n1.x", "r1-n2.x", "r2-n1.x", "r2-n2.x"]),
        ("[1-2]", ["1", "2"]),
        ("n1,@x,a!b", ["n1", "@x", "a!b"]),
        ("n[1-2,4],@all,*", ["n1", "n2", "n4", "@all", "*"]),
        ("node[1-999999999999]", ["node[1-999999999999]"]),
        ("a[1-99999]b[1-99999]", ["a[1-99999]b[1-99999]"]),
        ("n[9999999999999999998-9999999999999999999]", ["n9999999999999999998", "n9999999999999999999"]),
        ("x[", ["x["]),
        ("y]", ["y]"]),
        ("z[]", ["z[]"]),
        ("z[a-b]", ["z[a-b]"]),
        ("n[3-1]", ["n3"]),
    ],
)
def test_unfolded(folded: str, names: list[str]) -> None:
    assert list(unfolded(folded)) == names


@pytest.mark.parametrize(
    ("folded", "count", "names"),
    [
        ("n[1-3]", 3, ["n1", "n2", "n3"]),
        ("gpu[1-8]", 1, ["gpu[1-8]"]),
        ("n[1-3],gpu[1-8]", 4, ["n1", "n2", "n3", "gpu[1-8]"]),
        ("n[1-3],a,b", 5, ["n1", "n2", "n3", "a", "b"]),
        ("a[1-2],b[1-2]", 3, ["a1", "a2", "b[1-2]"]),
    ],
)
def test_no_more_names_than_there_are(folded: str, count: int, names: list[str]) -> None:
    assert list(unfolded(folded, count)) == names


@given(st.lists(st.from_regex(r"[a-c]{0,2}-?[0-9]{1,3}(\.d)?|[ab]{1,2}|r[0-9]-n[0-9]{1,2}|[@!*]a", fullmatch=True)))
@settings(max_examples=200, deadline=None)
def test_what_was_folded_comes_back(names: list[str]) -> None:
    assert sorted(unfolded(fold(names))) == sorted(set(names))
    assert sorted(unfolded(fold(names), len(set(names)))) == sorted(set(names))


@pytest.mark.parametrize(
    ("text", "room", "short"),
    [
        ("n[1-8]", 9, "n[1-8]"),
        ("n[1,3,5,7,9,11,13]", 17, "n[1,3] and 5 more"),
        ("gpu[001,003,005]-a,gpu[002,004]-a", 28, "gpu[001,003]-a and 3 more"),
        ("r[1-2]-n[01-16],r[4-5]-n[01-16]", 28, "r[1-2]-n[01-16] and 32 more"),
        ("r[1-2]-n[01-16],r[4-5]-n[01-16]", 20, "64 nodes"),
        ("a,b,c,d,e,f", 10, "6 nodes"),
        (f"n[1-{'9' * 190}],b", 20, "2 nodes"),  # more than any fleet has is one name
    ],
)
def test_a_set_that_is_too_long_is_whole_up_to_where_it_ends(text: str, room: int, short: str) -> None:
    assert shortened(text, room) == short
    shown, _, more = short.partition(" and ")
    if more:
        assert counted(shown) + int(more.split()[0]) == counted(text) == len(unfolded(text))
