"""Engines that do what a test says, and reports to send."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event

from gpudoctor.fleet.runner import protocol
from gpudoctor.fleet.runner.engine import FleetTarget, NodeJob, NodeLine, Over, Tell
from gpudoctor.fleet.runner.run_directory import Run, RunDirectory

JOB = NodeJob(("gpudoctor", "fleet", "node"), 60.0)
Reported = NodeLine | Over
Script = Callable[[Sequence[FleetTarget], Tell, Event], None]


def report(status: str = "pass", **more: object) -> bytes:
    """A report as a node sends it."""
    document = {"schema": "gpudoctor.report/1", "status": status, "created": "2026-01-01T00:00:00Z", **more}
    return json.dumps(document, separators=(",", ":")).encode()


def said(node: str, data: bytes | None = None, known: bool = True) -> Iterator[NodeLine]:
    """What a node writes: hello, and its report."""
    for text in (protocol.hello(node), *protocol.lines(node, report() if data is None else data)):
        yield NodeLine(node if known else "", text)


class Played:
    """An engine that does what a function says.

    Args:
        script: what `run` does.
        nodes: that it knows.
    """

    name = "played"

    def __init__(self, script: Script, nodes: Sequence[FleetTarget] = ()) -> None:
        self._script, self._nodes = script, nodes
        self.asked: list[str] = []

    def targets(self, request: str) -> Sequence[FleetTarget]:
        return [one for one in self._nodes if not request or one.node in request.split(",")]

    def run(self, targets: Sequence[FleetTarget], job: NodeJob, tell: Tell, stop: Event) -> None:
        self.asked += [one.node for one in targets]
        self._script(targets, tell, stop)


def every(tell: Tell, *reported: Reported) -> None:
    """Tell these things in their order."""
    for one in reported:
        tell(one)


def telling(*reported: Reported) -> Script:
    """A script that tells these things in their order."""
    return lambda _, tell, __: every(tell, *reported)


def targets(*nodes: str) -> list[FleetTarget]:
    """Nodes that can be asked."""
    return [FleetTarget(node=node) for node in nodes]


def opened(path: Path) -> RunDirectory:
    """The folder of a run."""
    return RunDirectory(str(path), Run(engine="played"))
