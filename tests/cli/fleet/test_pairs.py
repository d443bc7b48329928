"""`gpudoctor fleet run --pairs`: afterwards neighbours sum, and what is wrong between them stands in the summary."""

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Event

import msgspec
import pytest

from gpudoctor.fleet.runner import engines, protocol
from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, NodeLine, Over, Tell
from gpudoctor.fleet.runner.pairs import PairReport, Size
from tests.cli import Ran
from tests.cli.conftest import Run

REPORT = {
    "schema": "gpudoctor.report/1", "version": "0", "status": "pass", "created": "2026-01-01T00:00:00Z",
    "gpus": [{"index": 0, "vendor": "nvidia", "name": "H100"}],
}  # fmt: skip
NODES = ",".join(f"n{at}" for at in range(6))


class Engine:
    """Every node reports; a pair sums at 10 GB/s, but for those in `rates`, and not at all at 0."""

    name = "local"

    def __init__(self) -> None:
        self.rates: dict[frozenset[str], float] = {}
        self.ranks: list[NodeJob] = []
        self.breaks = False

    def targets(self, request: str) -> Sequence[FleetTarget]:
        return [FleetTarget(node=name) for name in request.split(",")]

    def run(self, targets: Sequence[FleetTarget], job: NodeJob, tell: Tell, stop: Event) -> None:
        names = [target.node for target in targets]
        ranks = "rank" in job.argv
        if ranks:
            self.ranks.append(job)
            if self.breaks:
                raise EngineError("The engine broke.")
        for at, name in enumerate(names):
            data = self._side(name, names[at ^ 1]) if ranks else json.dumps(REPORT).encode()
            for line in (protocol.hello(name), *protocol.lines(name, data)):
                tell(NodeLine(name, line))
            tell(Over(name, "failed", "It ended with 0."))

    def _side(self, node: str, peer: str) -> bytes:
        rate = self.rates.get(frozenset((node, peer)), 10.0)
        error = "" if rate else "rank 0 failed: timed out"
        sizes = (Size(bytes=8, seconds=1.0, rate=rate),) if rate else ()
        return msgspec.json.encode(PairReport(node=node, library="nccl", ranks=2, sizes=sizes, error=error))


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    monkeypatch.setitem(engines.ENGINES, "local", ("local", "Local"))
    monkeypatch.setattr(engines, "engine", lambda *_, **__: made)
    return made


def _run(run: Run, tmp_path: Path, *more: str) -> Ran:
    return run("fleet", "run", "local", NODES, "--pairs", *more, "--output", str(tmp_path / "run"))


def test_links_that_are_alike_change_nothing(run: Run, engine: Engine, tmp_path: Path) -> None:
    ran = _run(run, tmp_path, "--with", "/opt/gpudoctor -x")
    assert (ran.code, ran.err) == (0, "")
    assert "6 nodes are healthy" in ran.out
    assert len(list((tmp_path / "run" / "pairs").iterdir())) == 6
    assert [job.argv[:6] for job in engine.ranks] == [
        ("/opt/gpudoctor", "-x", "fleet", "rank", "--pairs", "n0,n1,n2,n3,n4,n5"),
        ("/opt/gpudoctor", "-x", "fleet", "rank", "--pairs", "n1,n2,n3,n4,n5,n0"),
    ]
    _run(run, tmp_path)
    assert len(engine.ranks) == 2, "those that have summed are left alone"
    _run(run, tmp_path, "--rerun")
    assert len(engine.ranks) == 4


def test_a_slow_node_is_a_warning(run: Run, engine: Engine, tmp_path: Path) -> None:
    engine.rates = {frozenset(("n3", "n4")): 1.0, frozenset(("n4", "n5")): 1.5}
    ran = _run(run, tmp_path, "--json")
    found = json.loads(ran.out)
    assert ran.code == 0
    assert [(one["check"], one["status"], one["nodes"]) for one in found["causes"]] == [("pairs.slow", "warn", "n4")]
    assert "1 GB/s with n3" in found["causes"][0]["cause"]


def test_a_link_without_a_way_fails(run: Run, engine: Engine, tmp_path: Path) -> None:
    engine.rates = {frozenset(("n1", "n2")): 0.0}
    ran = _run(run, tmp_path)
    assert ran.code == 1
    said = " ".join(ran.out.split())
    assert "All-reduce between neighbor nodes fails or is wrong" in said
    again = run("fleet", "report", str(tmp_path / "run"), "--all")
    assert again.code == 1
    assert "n1 and n2: all-reduce failed" in " ".join(again.out.split())
    assert "All-reduce between neighbor nodes fails or is wrong" in " ".join(again.out.split())


def test_an_engine_that_breaks_then_is_said_and_the_reports_stay(run: Run, engine: Engine, tmp_path: Path) -> None:
    engine.breaks = True
    ran = _run(run, tmp_path)
    assert ran.code == 3
    assert ran.err.startswith("gpudoctor: The engine broke. 6 of 6 nodes have reported")
    assert len(list((tmp_path / "run" / "reports").iterdir())) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--pairs", "a"), "--pairs needs an even number of names."),
        (("--pairs", "a,"), "--pairs needs an even number of names."),
        (("--pairs", "a,b", "--gpus", "x"), "x is not a whole number from 0 to 65535."),
        (("--pairs", "a,b", "--port", "70000"), "70000 is not a whole number from 0 to 65535."),
        (("--pairs", "a,b", "--timeout", "1"), "--timeout takes 5 to 86400 seconds."),
        (("--pairs", "a,b", "--timeout", "nan"), "--timeout takes 5 to 86400 seconds."),
    ],
)
def test_what_a_node_cannot_be_asked(run: Run, arguments: tuple[str, ...], message: str) -> None:
    ran = run("fleet", "rank", *arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", f"gpudoctor: {message}\n")
