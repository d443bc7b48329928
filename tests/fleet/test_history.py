"""What has changed between two summaries; what nobody knows is neither solved nor better."""

import math
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudoctor.fleet import summary_store
from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
from gpudoctor.fleet.changes import noise
from gpudoctor.fleet.history import changes, compared
from gpudoctor.fleet.renderers.json import render
from gpudoctor.fleet.summary import Cause, Change, Departure, Drift, Fleet, HardwareGroup, Spread
from gpudoctor.fleet.summary_store import SummaryError, keep, read, since_last
from tests.fleet.fleets import FLEETS, H100, healthy, large


def fleet(states: dict[str, str], causes: tuple[Cause, ...] = (), **more: Any) -> Fleet:
    return Fleet(states=states, causes=causes, **more)


def size(nodes: str) -> int:
    return len(unfolded(nodes))


def cause(check: str, nodes: str, status: str = "fail", message: str = "") -> Cause:
    title = f"Title of {check}"
    return Cause(
        check=check,
        status=status,
        title=title,
        cause=f"why {message}",
        message=message,
        example="n1",
        nodes=nodes,
        count=size(nodes),
    )


def reported(before: Fleet, now: Fleet) -> list[tuple[str, str, str]]:
    return [(one.kind, one.message, one.nodes) for one in changes(before, now)]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("pass", "fail", "worse"),
        ("pass", "warn", "worse"),
        ("warn", "fail", "worse"),
        ("pass", "incomplete", "worse"),
        ("pass", "unreachable", "worse"),
        ("fail", "unreachable", "worse"),
        ("unreachable", "fail", "worse"),
        ("incomplete", "timed out", "worse"),
        ("fail", "pass", "better"),
        ("fail", "warn", "better"),
        ("fail", "incomplete", "better"),
        ("warn", "pass", "better"),
        ("unreachable", "pass", "better"),
        ("refused", "warn", "better"),
        ("unreachable", "timed out", "fact"),
        ("not asked", "unreadable", "fact"),
        ("pass", "pass", ""),
    ],
)
def test_a_node_goes_its_way(old: str, new: str, kind: str) -> None:
    found = reported(fleet({old: "n1,n2"}), fleet({new: "n1", old: "n2"} if new != old else {old: "n1,n2"}))
    assert found == ([(kind, f"{old} before, {new} now", "n1")] if kind else [])


def test_nodes_come_and_go() -> None:
    found = reported(fleet({"pass": "n[1-3]"}), fleet({"pass": "n[2-5]"}))
    assert found == [("vanished", "No longer in the fleet", "n1"), ("appeared", "New in the fleet", "n[4-5]")]


NAME = "Title of a.b (a.b)"


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ("", "n[1-2]", [("cause", f"New: {NAME}", "n[1-2]")]),
        ("n1", "n[1-3]", [("cause", f"On more nodes: {NAME}", "n[2-3]")]),
        ("n[1-2]", "", [("solved", f"Solved: {NAME}", "n[1-2]")]),
        ("n[1-3]", "n1", [("solved", f"Solved on some of its nodes: {NAME}", "n[2-3]")]),
        (
            "n1",
            "n2",
            [("cause", f"On more nodes: {NAME}", "n2"), ("solved", f"Solved on some of its nodes: {NAME}", "n1")],
        ),
        ("n1", "n1", []),
    ],
)
def test_causes(before: str, now: str, expected: list[tuple[str, str, str]]) -> None:
    def with_(nodes: str) -> Fleet:
        return fleet({"fail": "n[1-3]"}, (cause("a.b", nodes),) if nodes else ())

    assert reported(with_(before), with_(now)) == expected


def test_other_words_are_no_other_cause() -> None:
    before = fleet({"fail": "n1"}, (cause("a.b", "n1", message="570"),))
    now = fleet({"fail": "n1"}, (cause("a.b", "n1", message="580"),))
    assert changes(before, now) == ()


def test_who_says_nothing_has_solved_nothing() -> None:
    before = fleet({"fail": "n[1-4]"}, (cause("a.b", "n[1-4]"),))
    now = fleet({"unreachable": "n1", "incomplete": "n2", "pass": "n3"})
    assert [one for one in reported(before, now) if one[0] == "solved"] == [
        ("solved", f"Solved on some of its nodes: {NAME}", "n3")
    ]


def test_where_nobody_looked_before_nothing_has_spread() -> None:
    before = fleet({"fail": "n1", "unreachable": "n2"}, (cause("a.b", "n1"),))
    now = fleet({"fail": "n[1-2]"}, (cause("a.b", "n[1-2]"),))
    assert reported(before, now) == [("worse", "unreachable before, fail now", "n2")]
    first = fleet({"unreachable": "n2"})  # of a cause that nobody has seen before, all nodes are told
    assert ("cause", f"New: {NAME}", "n[1-2]") in reported(first, now)


def of_group(nodes: str, facts: dict[str, str], *apart: tuple[str, str, str]) -> Fleet:
    """A fleet of one group; `apart` has a fact, another value, and its nodes."""
    drifts = tuple(
        Drift(
            hardware=H100, fact=fact, majority=facts.get(fact, ""), count=1, known=2,
            departures=(Departure(value=value, nodes=some, count=size(some)),),
        )
        for fact, value, some in apart
    )  # fmt: skip
    return fleet(
        {"pass": nodes},
        groups=(HardwareGroup(hardware=H100, nodes=nodes, count=size(nodes), facts=facts),),
        drifts=drifts,
    )


def test_what_most_have_is_another() -> None:
    before = of_group("n[1-9]", {"nvidia.kernel.loaded": "570.1", "amd.rocm": "6"})
    now = of_group("n[1-9]", {"nvidia.kernel.loaded": "580.2"}, ("nvidia.kernel.loaded", "570.1", "n9"))
    assert reported(before, now) == [("fact", "driver (loaded): 570.1 before, 580.2 now", "n[1-8]")]


def test_the_same_update_is_told_once() -> None:
    driver = ("nvidia.kernel.loaded", "nvidia.nvml.driver_version")
    found = reported(of_group("n1", dict.fromkeys(driver, "570.1")), of_group("n1", dict.fromkeys(driver, "580.2")))
    assert found == [("fact", "driver (loaded): 570.1 before, 580.2 now", "n1")]
    old, new = dict.fromkeys(driver, "570.1"), dict.fromkeys(driver, "580.2")
    cuda = "nvidia.cuda.version"
    assert reported(of_group("n1", old | {cuda: "12.8"}), of_group("n1", new | {cuda: "13.0"})) == found
    other = reported(of_group("n1", old | {cuda: "12.8"}), of_group("n1", old | {cuda: "13.0"}))
    assert other == [("fact", "CUDA version of the driver: 12.8 before, 13.0 now", "n1")]


def test_many_packages_are_one_line() -> None:
    names = [f"packages.p{n}" for n in range(30)] + ["packages.torch"]
    found = reported(of_group("n1", dict.fromkeys(names, "1")), of_group("n1", dict.fromkeys(names, "2")))
    assert found == [("fact", "31 packages changed, such as package torch: 1 before, 2 now", "n1")]
    few = reported(of_group("n1", dict.fromkeys(names[:2], "1")), of_group("n1", dict.fromkeys(names[:2], "2")))
    assert [one[1] for one in few] == ["package p0: 1 before, 2 now", "package p1: 1 before, 2 now"]


def test_nodes_leave_what_most_have_and_come_back() -> None:
    most = {"gpus.*.vbios": "96"}
    before = of_group("n[1-9]", most, ("gpus.*.vbios", "95", "n[1-2]"))
    now = of_group("n[1-9],n20", most, ("gpus.*.vbios", "97", "n[2-3],n20"))
    assert [one for one in reported(before, now) if one[0] == "fact"] == [
        ("fact", "VBIOS: 97 now, the majority still has 96", "n3"),
        ("fact", "VBIOS: 96 again, as the majority", "n1"),
    ]


def test_values_that_are_not_listed_are_not_taken_for_what_most_have() -> None:
    def with_more(one: Fleet) -> Fleet:
        return msgspec.structs.replace(one, drifts=tuple(msgspec.structs.replace(d, values=30) for d in one.drifts))

    apart = ("amd.rocm", "5", "n1")
    cut = with_more(of_group("n[1-9]", {"amd.rocm": "6"}, apart))
    assert reported(cut, of_group("n[1-9]", {"amd.rocm": "6"})) == []
    assert reported(of_group("n[1-9]", {"amd.rocm": "6"}), cut) == []
    assert reported(of_group("n[1-9]", {"amd.rocm": "4"}), cut) == [("fact", "ROCm: 4 before, 6 now", "")]


def test_groups_that_go_the_same_way_are_one_change() -> None:
    def two(value: str) -> Fleet:
        groups = [HardwareGroup(hardware=name, nodes=nodes, count=2, facts={"amd.rocm": value})
                  for name, nodes in (("a", "n[1-2]"), ("b", "n[3-4]"))]  # fmt: skip
        return fleet({"pass": "n[1-4]"}, groups=tuple(groups))

    assert reported(two("6"), two("7")) == [("fact", "ROCm: 6 before, 7 now", "n[1-4]")]


def test_a_fact_that_was_not_known_before_has_not_changed() -> None:
    assert reported(of_group("n1", {}), of_group("n1", {"amd.rocm": "6"}, ("amd.rocm", "5", "n1"))) == []


def spread(median: float, deviation: float = 0.5, count: int = 400, figure: str = "f") -> Spread:
    return Spread(
        hardware=H100, figure=figure, unit="GB/s", count=count, least=0, low=0, median=median, high=0, most=0,
        deviation=deviation,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("was", "one", "moved"),
    [
        (spread(55.0), spread(55.9), False),  # less than 2 %
        (spread(55.0), spread(53.0), True),
        (spread(55.0), spread(57.0), True),
        (spread(55.0, deviation=30.0), spread(53.0, deviation=30.0), False),  # within the noise of a median
        (spread(55.0, count=4), spread(51.0, count=4), False),  # of few values each counts
        (spread(55.0, count=4), spread(48.0, count=400), True),
        (spread(0.0), spread(48.0), False),
        (spread(55.0, figure="g"), spread(48.0), False),
    ],
)
def test_medians_beyond_their_noise(was: Spread, one: Spread, moved: bool) -> None:
    found = changes(fleet({}, spreads=(was,)), fleet({}, spreads=(one,)))
    assert [change.kind for change in found] == ["figure"] * moved


def test_a_median_is_told_with_its_part() -> None:
    (found,) = changes(fleet({}, spreads=(spread(55.0),)), fleet({}, spreads=(spread(49.5),)))
    assert found.message == f"f: the median is 49.5 GB/s, was 55.0 (-10.0%), on {H100}"


def test_noise_is_three_standard_errors() -> None:
    wide = spread(10.0, deviation=10.0, count=100)
    assert noise(wide, wide) == pytest.approx(3 * math.sqrt(math.pi / 2) * math.sqrt(2))


def test_what_is_bad_comes_first() -> None:
    before = fleet({"pass": "n[1-2]", "fail": "n3"}, (cause("c.d", "n3"),))
    now = fleet({"pass": "n3,n4", "fail": "n1"}, (cause("a.b", "n1"),))
    assert [one[0] for one in reported(before, now)] == ["worse", "cause", "vanished", "appeared", "solved", "better"]


@pytest.mark.parametrize("name", FLEETS)
def test_nothing_has_changed_since_itself(name: str) -> None:
    assert changes(FLEETS[name], FLEETS[name]) == ()


def test_against_hostile_texts_it_holds() -> None:
    for other in FLEETS.values():
        for one in (*changes(FLEETS["hostile"], other), *changes(other, FLEETS["hostile"])):
            assert one.message


# -- in files ------------------------------------------------------------------------------------------------


def later(one: Fleet, **changed: Any) -> Fleet:
    return msgspec.structs.replace(one, newest="2026-11-22T03:00:00Z", **changed)


def test_the_folder_of_a_run_keeps_the_last_summary(tmp_path: Path) -> None:
    first = since_last(str(tmp_path), healthy())
    assert (first.changes, first.since) == ((), "")
    keep(str(tmp_path), first)
    assert read(str(tmp_path / "summary.json")) == first
    ill = later(healthy(), states={"pass": "node[001-011]", "fail": "node012"}, counts={"pass": 11, "fail": 1})
    second = since_last(str(tmp_path), ill)
    assert second.since == "2026-11-21T03:20:59Z"
    assert second.changes == (Change(kind="worse", message="pass before, fail now", nodes="node012", count=1),)
    keep(str(tmp_path), second)
    again = since_last(str(tmp_path), ill)  # the same reports: what had changed before them still has
    assert (again.changes, again.since) == (second.changes, second.since)
    assert os.listdir(tmp_path) == ["summary.json"]


def test_where_nobody_may_write_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(summary_store, "write", refused)
    keep(str(tmp_path), healthy())
    monkeypatch.setattr(summary_store, "write", full)
    with pytest.raises(SummaryError, match=r"summary\.json cannot be written: No space left on device\.$"):
        keep(str(tmp_path), healthy())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not a fleet summary"),
        (b"[", "is not a fleet summary"),
        (b"{}", "has the schema ''; this version reads gpudoctor.fleet/1"),
        (b'{"schema": "gpudoctor.fleet/9"}', "has the schema 'gpudoctor.fleet/9'"),
        (b'{"schema": "gpudoctor.fleet/1", "total": "many"}', "is not a fleet summary"),
        (b"[" * 100_000, "is not a fleet summary"),
        (b"\xff\xfe", "is not a fleet summary"),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "old.json"
    path.write_bytes(data)
    with pytest.raises(SummaryError) as error:
        read(str(path))
    assert message in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)
    with pytest.raises(SummaryError, match="no/such cannot be read: No such file or directory"):
        read("no/such")


def test_a_summary_is_told_from_a_report(tmp_path: Path) -> None:
    (tmp_path / "summary").write_text(render(large(40)))
    (tmp_path / "report").write_text('{"schema": "gpudoctor.report/1"}')
    assert summary_store.is_summary(str(tmp_path / "summary"))
    assert not summary_store.is_summary(str(tmp_path / "report"))
    assert not summary_store.is_summary(str(tmp_path / "none"))


def test_compared_says_since_when() -> None:
    assert compared(large(40), healthy()).since == healthy().newest
    assert compared(large(40), FLEETS["empty"]).since == FLEETS["empty"].created
