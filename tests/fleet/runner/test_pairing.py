"""Neighbours sum with each other through an engine, and what they measured lands whole."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

import msgspec
import pytest

from gpudoctor.fleet.runner import protocol
from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, NodeLine, Over, Tell
from gpudoctor.fleet.runner.pairing import How, ask, groups, links
from gpudoctor.fleet.runner.pairs import PairGroup, PairReport, Size
from gpudoctor.fleet.runner.report_store import file_name

HOW = How(("gpudoctor",), 60, 64)
ILL = {"no-utf-8.json": b'{"gpus":[{"name":"\xff"}],"error":"\xff"}', "deep.json": b'{"x":' + b"[" * 100_000}
SIX = PairGroup("2 x H100", 2, tuple(f"n{at}" for at in range(6)))


class Engine:
    """Each node of a pair sends its side at once; what happens otherwise follows from its name."""

    name = "stand-in"

    def __init__(self) -> None:
        self.jobs: list[NodeJob] = []
        self.asked: list[str] = []
        self.happens: dict[str, Callable[[Event], str]] = {}

    def targets(self, request: str) -> Sequence[FleetTarget]:
        return ()

    def run(self, targets: Sequence[FleetTarget], job: NodeJob, tell: Tell, stop: Event) -> None:
        self.jobs.append(job)
        for target in targets:
            self.asked.append(target.node)
            if target.node in self.happens:
                tell(Over(target.node, "failed", self.happens[target.node](stop)))
                continue
            sizes = (Size(bytes=8, seconds=2.0, rate=4.0),)
            side = PairReport(node=target.node, library="nccl", ranks=4, sizes=sizes)
            for line in (protocol.hello(target.node), "noise", *protocol.lines(target.node, msgspec.json.encode(side))):
                tell(NodeLine(target.node, line))
            tell(Over(target.node, "failed", "It ended with 0."))


def _ask(engine: Engine, folder: Path, how: How = HOW, stop: Event | None = None, group: PairGroup = SIX) -> int:
    return ask(engine, [group], how, str(folder), stop or Event(), lambda _: None)


def test_all_pairs_sum_in_two_rounds(tmp_path: Path) -> None:
    engine = Engine()
    assert _ask(engine, tmp_path) == 6
    first, second = engine.jobs
    assert first == NodeJob(
        ("gpudoctor", "fleet", "rank", "--pairs", "n0,n1,n2,n3,n4,n5", "--gpus", "2", "--timeout", "60"), 60, 6, True
    )
    assert second.argv[4] == "n1,n2,n3,n4,n5,n0"
    found = list(links(str(tmp_path)))
    assert {one.nodes for one in found} == {
        ("n0", "n1"),
        ("n2", "n3"),
        ("n4", "n5"),
        ("n1", "n2"),
        ("n3", "n4"),
        ("n5", "n0"),
    }
    assert {(one.rate, one.error, one.hardware, one.library, one.ranks) for one in found} == {
        (4.0, "", "2 x H100", "nccl", 4)
    }
    names = sorted(file.name for file in (tmp_path / "pairs").iterdir())
    assert names == ["1-n0-n1.json", "1-n2-n3.json", "1-n4-n5.json", "2-n1-n2.json", "2-n3-n4.json", "2-n5-n0.json"]


def test_both_nodes_of_a_pair_are_asked_at_once(tmp_path: Path) -> None:
    engine = Engine()
    _ask(engine, tmp_path, HOW._replace(fan=3))
    assert [job.argv[4] for job in engine.jobs] == ["n0,n1", "n2,n3", "n4,n5", "n1,n2", "n3,n4", "n5,n0"]


def test_a_side_that_is_missing_is_told_with_its_engines_words_and_asked_again(tmp_path: Path) -> None:
    engine = Engine()
    engine.happens["n3"] = lambda _: "No route to host."
    assert _ask(engine, tmp_path) == 6
    ill = {one.nodes: one.error for one in links(str(tmp_path)) if one.error}
    assert ill == {("n2", "n3"): "n3: No route to host.", ("n3", "n4"): "n3: No route to host."}

    engine = Engine()
    assert _ask(engine, tmp_path) == 6
    assert engine.asked == ["n2", "n3", "n3", "n4"], "those that have summed are left alone"
    assert not any(one.error for one in links(str(tmp_path)))
    assert _ask(Engine(), tmp_path) == 6
    engine = Engine()
    _ask(engine, tmp_path, HOW._replace(again=True))
    assert len(engine.asked) == 12


def test_who_is_cut_off_has_measured_nothing(tmp_path: Path) -> None:
    engine, stop = Engine(), Event()

    def ended(event: Event) -> str:
        event.set()
        return "The run was stopped first."

    engine.happens["n4"] = ended
    assert _ask(engine, tmp_path, stop=stop) == 2
    assert [one.nodes for one in links(str(tmp_path))] == [("n0", "n1"), ("n2", "n3")]
    assert len(engine.jobs) == 1


@pytest.mark.parametrize("data", [*ILL.values(), b"", b"[]", b'{"schema":"acme/1","node":"n0"}'])
def test_what_a_node_sends_that_is_no_side_is_as_if_it_had_sent_nothing(tmp_path: Path, data: bytes) -> None:
    class Odd(Engine):
        def run(self, targets: Sequence[FleetTarget], job: NodeJob, tell: Tell, stop: Event) -> None:
            for line in protocol.lines("n0", data):
                tell(NodeLine("n0", line))
            super().run(targets[1:], job, tell, stop)

    assert _ask(Odd(), tmp_path, group=PairGroup("", 0, ("n0", "n1"))) == 1
    assert [one.error for one in links(str(tmp_path))] == ["n0: It sent nothing."]


def test_an_engine_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    class Broken(Engine):
        def run(self, targets: Sequence[FleetTarget], job: NodeJob, tell: Tell, stop: Event) -> None:
            raise EngineError("It is broken.")

    with pytest.raises(EngineError, match="It is broken"):
        _ask(Broken(), tmp_path)
    assert list((tmp_path / "pairs").iterdir()) == []


def test_names_that_mean_something_in_a_path_stay_in_the_folder(tmp_path: Path) -> None:
    assert _ask(Engine(), tmp_path, group=PairGroup("", 0, ("../a", "b-1"))) == 1
    assert [file.name for file in (tmp_path / "pairs").iterdir()] == ["1-%2E.%2Fa-b%2D1.json"]
    assert [one.nodes for one in links(str(tmp_path))] == [("../a", "b-1")]


def test_what_is_no_link_is_left_out(tmp_path: Path) -> None:
    place = tmp_path / "pairs"
    place.mkdir()
    for name, text in {"a.json": "{", "b.json": "{}", "c.txt": "x", "d.json": '{"round":1,"nodes":["a"]}'}.items():
        (place / name).write_text(text)
    (place / "e.json").write_text('{"schema":"gpudoctor.pair/2","round":1,"nodes":["a","b"]}')
    for name, data in ILL.items():
        (place / name).write_bytes(data)
    assert list(links(str(tmp_path))) == []
    assert list(links(str(tmp_path / "nowhere"))) == []


def test_only_like_nodes_are_neighbours(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    kinds = {"n²": 2, "n10": 2, "n9": 2, "login": 0, "n1": 2, "odd,name": 2, "gpu1": 1}
    for node, count in kinds.items():
        gpus = [{"index": at, "vendor": "nvidia", "name": "H100"} for at in range(count)]
        (tmp_path / "reports" / file_name(node)).write_text(json.dumps({"gpus": gpus, "status": "pass"}))
    (tmp_path / "reports" / "broken.json").write_text("{")
    for name, data in ILL.items():
        (tmp_path / "reports" / name).write_bytes(data)
    assert sorted(groups(str(tmp_path))) == [
        PairGroup("1 x H100", 1, ("gpu1",)),
        PairGroup("2 x H100", 2, ("n1", "n9", "n10", "n²")),
        PairGroup("no GPU", 0, ("login",)),
    ]
    assert groups(str(tmp_path / "nowhere")) == []
