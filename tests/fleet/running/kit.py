"""Engines that do what a test says, and reports to send."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event

from gpudoctor.fleet.running import wire
from gpudoctor.fleet.running.engine import Job, Line, Over, Target, Tell
from gpudoctor.fleet.running.folder import Folder, Run

JOB = Job(("gpudoctor", "fleet", "node"), 60.0)
Told = Line | Over
Script = Callable[[Sequence[Target], Tell, Event], None]


def report(status: str = "pass", **more: object) -> bytes:
    """A report as a node sends it."""
    document = {"schema": "gpudoctor.report/1", "status": status, "created": "2026-01-01T00:00:00Z", **more}
    return json.dumps(document, separators=(",", ":")).encode()


def said(node: str, data: bytes | None = None, known: bool = True) -> Iterator[Line]:
    """What a node writes: hello, and its report."""
    for text in (wire.hello(node), *wire.lines(node, report() if data is None else data)):
        yield Line(node if known else "", text)


class Played:
    """An engine that does what a function says.

    Args:
        script: what `run` does.
        nodes: that it knows.
    """

    name = "played"

    def __init__(self, script: Script, nodes: Sequence[Target] = ()) -> None:
        self._script, self._nodes = script, nodes
        self.asked: list[str] = []

    def targets(self, wish: str) -> Sequence[Target]:
        return [one for one in self._nodes if not wish or one.node in wish.split(",")]

    def run(self, targets: Sequence[Target], job: Job, tell: Tell, stop: Event) -> None:
        self.asked += [one.node for one in targets]
        self._script(targets, tell, stop)


def every(tell: Tell, *told: Told) -> None:
    """Tell these things in their order."""
    for one in told:
        tell(one)


def telling(*told: Told) -> Script:
    """A script that tells these things in their order."""
    return lambda _, tell, __: every(tell, *told)


def targets(*nodes: str) -> list[Target]:
    """Nodes that can be asked."""
    return [Target(node=node) for node in nodes]


def opened(path: Path) -> Folder:
    """The folder of a run."""
    return Folder(str(path), Run(engine="played"))
