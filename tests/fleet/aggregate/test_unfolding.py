"""Folded texts back to names: as they were folded, and no joke makes a million of one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
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
