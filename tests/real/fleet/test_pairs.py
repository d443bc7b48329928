"""Neighbours that sum with a real PyTorch: processes of this machine, and nodes whose cables differ."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from gpudoctor.fleet.aggregate.links import judged
from gpudoctor.fleet.runner.engine import FleetTarget, NodeJob, NodeLine, Over, Tell
from gpudoctor.fleet.runner.engines.clustershell import ClusterShell
from gpudoctor.fleet.runner.pairing import How, ask, links
from gpudoctor.fleet.runner.pairs import PairGroup
from tests.real.ssh_nodes import Nodes, why_not

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(600)]
Interpreter = Callable[..., str]
TORCH = "torch==2.13.0+cpu"
SECONDS = 60.0
WHY_NOT = why_not()


@pytest.fixture(scope="module")
def python(interpreter: Interpreter) -> str:
    return interpreter("torchcpu-numpy", TORCH, "numpy")


class Here:
    """Every node is this machine, by one of its names."""

    name = "here"

    def targets(self, request: str) -> Sequence[FleetTarget]:
        return [FleetTarget(node=name) for name in request.split(",")]

    def run(self, targets: Sequence[FleetTarget], job: NodeJob, tell: Tell, stop: Event) -> None:
        def one(target: FleetTarget) -> None:
            argv = [*job.argv, "--name", target.node]
            ended = subprocess.run(argv, capture_output=True, text=True, timeout=job.seconds + 30)
            for line in ended.stdout.splitlines():
                tell(NodeLine(target.node, line))
            tell(Over(target.node, "failed", f"It ended with {ended.returncode}: {ended.stderr[-300:]}"))

        with ThreadPoolExecutor(len(targets)) as pool:
            list(pool.map(one, targets))


def _how(*more: str, fan: int = 64) -> How:
    return How((sys.executable, "-m", "gpudoctor"), SECONDS, fan, more=more)


def test_three_names_of_this_machine_sum_in_three_rounds(python: str, tmp_path: Path) -> None:
    group = PairGroup("no GPU", 0, ("127.0.0.1", "localhost", "127.0.0.2"))
    how = _how("--python", python, fan=2)  # one pair at a time: they meet at one port
    assert ask(Here(), [group], how, str(tmp_path), Event(), lambda _: None) == 3
    found = list(links(str(tmp_path)))
    assert [one.error for one in found] == [""] * 3
    for one in found:
        assert (one.library, one.ranks, one.wrong) == ("gloo", 2, 0)
        assert [size.bytes for size in one.sizes] == [1 << 16, 1 << 20, 4 << 20]
        assert one.rate == one.sizes[-1].rate > 0
        assert all(size.rate == pytest.approx(size.bytes / size.seconds / 1e9) for size in one.sizes)
    assert sorted(one.round for one in found) == [1, 2, 3]


def test_without_pytorch_both_sides_say_so(tmp_path: Path) -> None:
    group = PairGroup("no GPU", 0, ("127.0.0.1", "localhost"))
    assert ask(Here(), [group], _how("--python", sys.executable), str(tmp_path), Event(), lambda _: None) == 1
    (one,) = links(str(tmp_path))
    assert one.rate is None
    assert one.error.count("No module named 'torch'") == 2


NAMES = tuple(f"n{at}" for at in range(6))


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path / "nodes", NAMES)
    made.folder.mkdir()
    try:
        made.start(known=True)
        yield made
    finally:
        made.stop()


@pytest.mark.ssh
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
def test_the_node_with_the_slow_cable_and_the_link_without_a_way_are_found(
    python: str, nodes: Nodes, tmp_path: Path
) -> None:
    for name in NAMES:
        nodes.slow(name, "400mbit")
    nodes.slow("n4", "80mbit")
    nodes.part("n1", "n2")
    engine = ClusterShell(options=("-F", str(nodes.config)))
    group = PairGroup("no GPU", 0, NAMES)
    assert ask(engine, [group], _how("--python", python), str(tmp_path), Event(), lambda _: None) == 6
    (found,) = judged(links(str(tmp_path)))
    assert {fault.nodes for fault in found.faults} == {("n4",), ("n1", "n2")}, found
