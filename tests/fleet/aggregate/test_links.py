"""Which links are slow, and whether it is the link or a node."""

from pathlib import Path

import msgspec
import pytest

from gpudoctor.fleet.aggregate.links import LinkVerdicts, judged, with_links
from gpudoctor.fleet.runner.pairs import PairLink, plan
from gpudoctor.fleet.summary import Cause, Fleet

NAMES = [f"n{at}" for at in range(8)]


def ring(slow: dict[frozenset[str], float] | None = None, failed: set[frozenset[str]] | None = None) -> list[PairLink]:
    """The links of eight nodes, which carry 10 GB/s with a little spread, but for some."""
    found = []
    for number, pairs in enumerate(plan(NAMES), 1):
        for at, pair in enumerate(pairs):
            rate = (slow or {}).get(frozenset(pair), 10.0 + 0.1 * (at % 3))
            ill = frozenset(pair) in (failed or set())
            known = {"error": "a: timed out."} if ill else {"library": "nccl", "rate": rate}
            found.append(PairLink(round=number, nodes=pair, hardware="8 x H100", **known))
    return found


def link(one: int, other: int) -> frozenset[str]:
    return frozenset((f"n{one}", f"n{other}"))


def only(links: list[PairLink]) -> LinkVerdicts:
    (found,) = judged(links)
    return found


def test_links_that_are_alike_have_no_fault() -> None:
    found = only(ring())
    assert found.faults == ()
    assert (len(found.rates), found.hardware) == (8, "8 x H100")
    assert found.median == pytest.approx(10.05)


def test_of_few_links_none_is_slow_however_slow() -> None:
    few = [msgspec.structs.replace(one, rate=0.2) for one in ring()[:4]]
    assert only(few).faults == ()
    fifth = msgspec.structs.replace(few[0], rate=0.01)
    assert only([*few, fifth]).faults != ()


def test_a_slow_link_is_not_its_nodes() -> None:
    (fault,) = only(ring({link(3, 4): 2.0})).faults
    assert fault.nodes == ("n3", "n4")
    assert fault.message == "n3 and n4: 2 GB/s; most links reach 10 GB/s."


def test_a_node_that_is_slow_with_both_neighbours_is_slow_itself() -> None:
    (fault,) = only(ring({link(3, 4): 2.0, link(4, 5): 2.5})).faults
    assert fault.nodes == ("n4",)
    assert "n4 itself" in fault.message
    assert "2 GB/s with n3" in fault.message
    assert "2.5 GB/s with n5" in fault.message


def test_the_last_node_is_the_firsts_neighbour() -> None:
    assert [fault.nodes for fault in only(ring({link(7, 0): 2.0, link(0, 1): 2.0})).faults] == [("n0",)]


def test_a_pair_that_cannot_sum_is_a_fault_with_its_words() -> None:
    (fault,) = only(ring(failed={link(1, 2)})).faults
    assert fault.message.startswith("n1 and n2: all-reduce failed (a: timed out); most links reach 10.1 GB/s")
    (fault,) = only(ring({link(1, 2): 1.0}, failed={link(2, 3)})).faults
    assert fault.nodes == ("n2",)


def test_a_wrong_sum_is_a_fault_however_fast() -> None:
    links = ring()
    links[0] = PairLink(round=1, nodes=links[0].nodes, hardware="8 x H100", library="nccl", rate=11.0, wrong=7)
    (fault,) = only(links).faults
    assert "7 elements of the result are wrong" in fault.message


def test_faster_is_no_fault_and_a_little_slower_neither() -> None:
    assert only(ring({link(1, 2): 40.0, link(5, 6): 9.5})).faults == ()


def test_among_few_nobody_says_which_is_slow_but_what_failed_is_told() -> None:
    few = [
        PairLink(round=1, nodes=("a", "b"), library="gloo", rate=1.0),
        PairLink(round=2, nodes=("b", "c"), library="gloo", rate=9.0),
    ]
    assert only(few).faults == ()
    (fault,) = only([PairLink(round=1, nodes=("a", "b"), error="b: It is down.")]).faults
    assert (
        fault.message
        == "a and b: all-reduce failed (b: It is down); testing with a third node would show whether the link or a "
        "or b is at fault."
    )


def test_only_links_of_like_hardware_are_compared() -> None:
    others = [
        PairLink(round=1, nodes=(f"c{at}", f"d{at}"), hardware="no GPU", library="gloo", rate=1.0) for at in range(6)
    ]
    found = judged([*ring(), *others])
    assert [(one.hardware, one.faults) for one in found] == [("8 x H100", ()), ("no GPU", ())]


def test_a_node_that_spoils_two_links_of_five_is_found_however_far_the_others_spread() -> None:
    rates = {("a", "b"): 3.4, ("c", "d"): 4.0, ("d", "e"): 0.2, ("e", "f"): 0.21, ("f", "a"): 4.1}  # seen with Gloo
    links = [PairLink(round=1, nodes=nodes, library="gloo", rate=rate) for nodes, rate in rates.items()]
    assert [fault.nodes for fault in only(links).faults] == [("e",)]


def test_faults_stand_among_the_causes_of_the_fleet(tmp_path: Path) -> None:
    (tmp_path / "pairs").mkdir()
    for at, one in enumerate(ring({link(3, 4): 2.0}, failed={link(0, 1)})):
        (tmp_path / "pairs" / f"{at}.json").write_bytes(msgspec.json.encode(one))
    warned = Cause(check="driver.old", status="warn", title="", cause="", message="", example="n1", nodes="n1", count=1)
    fleet = Fleet(causes=(warned,))
    found = with_links(fleet, [str(tmp_path)]).causes
    assert [(cause.check, cause.status, cause.nodes, cause.count, cause.times) for cause in found] == [
        ("pairs.no-sum", "fail", "n[0-1]", 2, 1),
        ("pairs.slow", "warn", "n[3-4]", 2, 1),
        ("driver.old", "warn", "n1", 1, 0),
    ]
    assert found[0].cause.startswith("n0 and n1: all-reduce failed (a: timed out)")
    assert with_links(fleet, [str(tmp_path)], {"n3", "n4", "n5"}) == fleet, "one link is compared with no other"
    assert with_links(fleet, [str(tmp_path / "nowhere")]) == fleet


def test_many_faults_are_one_cause_of_bounded_length(tmp_path: Path) -> None:
    (tmp_path / "pairs").mkdir()
    for at in range(300):
        one = PairLink(round=1, nodes=(f"a{at}", f"b{at}"), error="a: It is down.")
        (tmp_path / "pairs" / f"{at}.json").write_bytes(msgspec.json.encode(one))
    (cause,) = with_links(Fleet(), [str(tmp_path)]).causes
    assert (cause.nodes, cause.count, cause.times) == ("a[0-299],b[0-299]", 600, 300)
    assert cause.cause.endswith("And 292 more.")
