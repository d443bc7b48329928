"""What sinfo says of nodes."""

import pytest

from gpudoctor.fleet.runner.engines.slurm_nodes import SinfoRow, by_node, gpus, place, responds, rows, target, why_not

# As Slurm 22.05 wrote it, but for the reason with a bar in it.
SAID = """\
node1|idle|up|all*|gpu:h100:2,gpu:a100:1|none
node1|idle|down|two|gpu:h100:2,gpu:a100:1|none
node2|drained|up|all*|gpu:2|gres/gpu count reported lower than configured (0 < 2)
CLUSTER: other
node3|down*|up|all*|(null)|a new fan | burnt.
"""


def test_a_row_for_each_node_and_partition() -> None:
    found = by_node(rows(SAID.splitlines(keepends=True)))
    assert list(found) == ["node1", "node2", "node3"]
    assert [row.partition for row in found["node1"]] == ["all*", "two"]
    assert found["node3"] == [SinfoRow("node3", "down*", "up", "all*", "(null)", "a new fan | burnt.")]


def test_what_cannot_be_asked_says_why() -> None:
    found = [target(one) for one in by_node(rows(SAID.splitlines())).values()]
    assert [(one.node, one.why_not, one.gpus) for one in found] == [
        ("node1", "", 3),
        ("node2", "Slurm reports it as drained: gres/gpu count reported lower than configured (0 < 2).", 2),
        ("node3", "Slurm reports it as down, not responding: a new fan | burnt.", None),
    ]


@pytest.mark.parametrize("state", ["idle", "IDLE", "mixed", "allocated", "allocated+", "completing", "idle#", "mixed-"])
def test_states_in_which_jobs_start_or_wait(state: str) -> None:
    assert why_not(state, "none") == ""


@pytest.mark.parametrize(
    ("state", "reported"),
    [
        ("idle*", "idle, not responding"),
        ("idle~", "idle, powered off"),
        ("idle%", "idle, powering off"),
        ("idle!", "idle, about to be powered off"),
        ("idle@", "idle, about to be rebooted"),
        ("idle^", "idle, rebooting"),
        ("allocated$", "allocated, in maintenance"),
        ("maint", "maint"),
        ("reserved", "reserved"),
        ("draining", "draining"),
        ("inval", "inval"),
        ("powered_down", "powered_down"),
        ("unknown*", "unknown, not responding"),
        ("a state of a later release", "a state of a later release"),
    ],
)
def test_states_in_which_none_does(state: str, reported: str) -> None:
    assert why_not(state, "none") == f"Slurm reports it as {reported}."
    assert why_not(state, "burnt") == f"Slurm reports it as {reported}: burnt."


@pytest.mark.parametrize("state", ["maint", "reserved", "idle$"])
def test_who_has_a_reservation_may_ask_what_is_reserved(state: str) -> None:
    assert why_not(state, "none")
    assert why_not(state, "none", reserved=True) == ""
    assert why_not("down*", "none", reserved=True)


def test_a_job_is_started_where_the_node_takes_one() -> None:
    def row(partition: str, up: str) -> SinfoRow:
        return SinfoRow("n", "idle", up, partition, "", "none")

    assert place([row("a", "up"), row("b*", "up"), row("c", "up")]).partition == "b*"
    assert place([row("a", "down"), row("b*", "drain"), row("c", "up")]).partition == "c"
    closed = target([row("a", "down"), row("b*", "inact")])
    assert closed.why_not == "Slurm's partition b is inact."


@pytest.mark.parametrize(
    ("gres", "number"),
    [
        ("gpu:8", 8),
        ("gpu:h100:8(S:0-1)", 8),
        ("gpu:h100:4(S:0,1),gpu:a100:4(S:2,3)", 8),
        ("gpu:h100:2,gpu:a100:1,nic:4", 3),
        ("gpu:1g.10gb:7(S:0)", 7),
        ("gpu", 1),
        ("gpu:h100", 1),
        ("gpu:0", 0),
        ("shard:16,nic:2", None),
        ("(null)", None),
        ("", None),
    ],
)
def test_gpus_of_all_types_are_counted(gres: str, number: int | None) -> None:
    assert gpus(gres) == number


@pytest.mark.parametrize(("state", "does"), [("idle", True), ("completing*", False), ("down", False), ("", False)])
def test_whom_the_controller_hears(state: str, does: bool) -> None:
    assert responds(state) is does
