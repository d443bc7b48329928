"""Names that are taken out of a summary: those of people where it is handed on, those of nodes where that is wished."""

import json

import msgspec
import pytest

from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
from gpudoctor.fleet.masking import harmless, masked
from gpudoctor.fleet.renderers.json import render
from gpudoctor.fleet.renderers.nodes import nodes
from gpudoctor.fleet.summary import Cause, Change, Fleet, Missing
from gpudoctor.report.model import FixEntry
from gpudoctor.tasks import cmd
from tests.fleet.fleets import FLEETS, H100, large

TASK = cmd("ssh", "secret8", "rm", "/home/anna/x")
FLEET = Fleet(
    total=3,
    states={"fail": "login,secret[8-9]"},
    counts={"fail": 3},
    causes=(
        Cause(
            check="a.b", status="fail", title="t", cause="/home/anna/venv is broken on secret8.acme.example.",
            message="secret9 cannot read /home/anna/x.", example="secret9", nodes="secret[8-9]", count=2,
            evidence=("secret[8-9]: no GPU",),
            fixes=(
                FixEntry(
                    "Repair secret8.", ("ssh secret8 rm /home/anna/x", "clush -w 'secret[8-9]' uptime"), tasks=(TASK,)
                ),
            ),
        ),
    ),
    missing=(Missing(state="refused", why="ssh: connect to host secret10.acme.example", nodes="login", count=1),),
    changes=(Change(kind="vanished", message="gone", nodes="secret10.acme.example", count=1),),
)  # fmt: skip


def test_people_go_and_nodes_stay() -> None:
    reported = masked(FLEET)
    assert "anna" not in render(reported)
    assert reported.states == FLEET.states
    assert reported.causes[0].example == "secret9"
    assert reported.causes[0].message == "secret9 cannot read /home/user2/x."


def test_nodes_get_other_names_everywhere() -> None:
    reported = masked(FLEET, nodes=True)
    text = render(reported)
    assert not [word for word in ("anna", "secret", "login", "acme") if word in text]
    assert reported.states == {"fail": "masked-node[1-3]"}
    (cause,) = reported.causes
    assert cause.nodes == "masked-node[2-3]"
    assert (cause.example, cause.message) == ("masked-node3", "masked-node3 cannot read /home/user2/x.")
    assert cause.fixes[0].commands == ("ssh masked-node2 rm /home/user2/x", "clush -w 'masked-node[2-3]' uptime")
    assert cause.evidence == ("masked-node[2-3]: no GPU",)
    assert reported.missing[0].why == "ssh: connect to host masked-node4"
    assert reported.changes[0].nodes == "masked-node4"


def test_a_node_that_is_called_like_a_check_changes_no_check() -> None:
    fleet = msgspec.structs.replace(FLEET, states={"fail": "a"})
    assert masked(fleet, nodes=True).causes[0].check == "a.b"


@pytest.mark.parametrize("name", ["large", "small", "healthy", "empty"])
def test_nothing_else_changes(name: str) -> None:
    fleet = FLEETS[name]
    other = masked(fleet, nodes=True)
    assert [
        one._replace(name="", missing=None, causes=(), targets=(), departs=(), outliers=()) for one in nodes(other)
    ] == [one._replace(name="", missing=None, causes=(), targets=(), departs=(), outliers=()) for one in nodes(fleet)]
    assert [len(unfolded(one.nodes)) for one in other.causes] == [one.count for one in fleet.causes]
    assert other.counts == fleet.counts
    assert [one.hardware for one in other.groups] == [one.hardware for one in fleet.groups]
    assert masked(fleet) == fleet


def test_equal_names_stay_equal_and_others_differ() -> None:
    fleet = large(1000)
    other = masked(msgspec.structs.replace(fleet, next=()), nodes=True)
    before = {one.name: one for one in nodes(fleet)}
    after = list(nodes(other))
    assert len({one.name for one in after}) == len(before)
    for old, new in zip(before.values(), after, strict=True):
        assert (old.state, old.hardware) == (new.state, new.hardware)
        assert [one.check for one in old.causes] == [one.check for one in new.causes]
        assert len(old.outliers) == len(new.outliers)
    assert other.groups[0].hardware == H100


def test_hostile_names_are_masked_too() -> None:
    reported = masked(FLEETS["hostile"], nodes=True)
    assert json.loads(render(reported))["causes"][0]["example"].startswith("masked-node")


def test_a_secret_goes_and_a_name_that_looks_like_one_stays() -> None:
    pod = "0123456789abcdef" * 4
    cause = msgspec.structs.replace(FLEET.causes[0], message="token=hf_abcdefghijkl", nodes=pod, example=pod)
    reported = harmless(msgspec.structs.replace(FLEET, states={"fail": pod}, causes=(cause,)))
    assert reported.states == {"fail": pod}
    assert (reported.causes[0].nodes, reported.causes[0].example) == (pod, pod)
    assert "hf_" not in reported.causes[0].message
    assert harmless(FLEET) == FLEET
