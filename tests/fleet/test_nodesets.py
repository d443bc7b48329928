"""Sets of nodes: folded as ClusterShell folds them, and no name is lost."""

import re

import pytest
from ClusterShell.NodeSet import NodeSet
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.extras import install_command
from gpudoctor.fleet import nodesets
from gpudoctor.fleet.nodesets import NodesError, fold, natural, unfold


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["n10", "n9"], ["n9", "n10"]),
        (["b1", "a2"], ["a2", "b1"]),
        (["r2-n1", "r1-n10", "r1-n9"], ["r1-n9", "r1-n10", "r2-n1"]),
        (["a", "1"], ["1", "a"]),
        (["n7", "n07"], ["n07", "n7"]),
        (["n²", "n1", "n"], ["n", "n1", "n²"]),
        (["9" * 5000, "8" * 5000, "a"], ["8" * 5000, "9" * 5000, "a"]),
    ],
)
def test_natural_order(names: list[str], wanted: list[str]) -> None:
    assert sorted(names, key=natural) == wanted


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["node001"], "node001"),
        (["node002", "node001", "node003", "node140"], "node[001-003,140]"),
        (["n9", "n10", "n11"], "n[9-11]"),
        (["n1", "n1"], "n1"),
        (["n1", "n2", "n01"], "n[1-2,01]"),
        (["b2", "a1", "b1", "a3"], "a[1,3],b[1-2]"),
        (["login", "a1"], "a1,login"),
        (["1", "2"], "[1-2]"),
        (["a1.example.org", "a2.example.org"], "a[1-2].example.org"),
        (["r1-n1", "r1-n2", "r2-n1", "r2-n2"], "r[1-2]-n[1-2]"),
        (["10.0.0.1", "10.0.0.2"], "10.0.0.[1-2]"),
        (["a!b", "@x", "gpu[1]", "a,b", "n1"], "n1,@x,a!b,a,b,gpu[1]"),
    ],
)
def test_fold(names: list[str], text: str) -> None:
    assert fold(names) == text


_NAMES = st.lists(
    st.from_regex(r"[a-c]{0,2}-?[0-9]{1,3}(\.d)?|[ab]{1,2}|r[0-9]-n[0-9]{1,2}", fullmatch=True), min_size=1
)


@given(_NAMES)
@settings(max_examples=300, deadline=None)
def test_as_clustershell_folds(names: list[str]) -> None:
    assert fold(names) == str(NodeSet.fromlist(names))
    assert set(unfold(fold(names))) == set(names)


@given(_NAMES)
@settings(max_examples=100, deadline=None)
def test_no_name_is_lost_where_there_are_many(names: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nodesets, "_SEVERAL", 3)
        assert set(unfold(fold(names))) == set(names)


def test_what_is_no_set_of_nodes() -> None:
    with pytest.raises(NodesError, match="is not a node set"):
        unfold("node[1-")
    with pytest.raises(NodesError, match=r"ClusterShell does not know this group \(none\)\.$"):
        unfold("@none:gpu")


def test_without_clustershell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodesets, "find_spec", lambda name: None)
    assert fold(["node1", "node2", "r1-n1", "r1-n2", "n1", "n01"]) == "n01,n1,node[1-2],r1-n1,r1-n2"
    with pytest.raises(NodesError, match=re.escape(f"needs ClusterShell: {install_command('fleet')}.")):
        unfold("node[1-2]")


@pytest.mark.parametrize(
    "text", ["n[1-99999999]", "a,n[1-1000,5-9999999]", "r[1-2000]n[1-2000]", "n[0-99999999999999999999]"]
)
def test_a_set_of_more_nodes_than_any_cluster_has_is_refused_before_it_is_made(text: str) -> None:
    with pytest.raises(NodesError, match="expands to more than 1,000,000 nodes"):
        unfold(text)


def test_large_sets_are_made() -> None:
    assert len(unfold("n[1-100000]")) == 100_000
    assert len(unfold("n[1-9999999/1000]")) == 10_000
    assert unfold("n[1-3]!n2") == ("n1", "n3")
