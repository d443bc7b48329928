"""gpudoctor with one more engine, "local", whose nodes are processes here; `python local.py fleet run local ...`.

What a node does follows from its name: "hang1" says hello and hangs, "deaf1" too, and its engine does not end it when
it is asked to stop (when they have said hello, a file of their name is in $MARK); "dead1" ends without a word, "down1"
cannot be asked, "noise1" writes other things too; "real1" is this machine; any other reports. An engine that is told so
breaks: then only "real1" reports.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

from gpudoctor.fleet.runner import engines, protocol
from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, NodeLine, Over, Tell

HANGS = "import time; print({hello!r}, flush=True); time.sleep(300)"
REPORT = {"schema": "gpudoctor.report/1", "version": "0", "status": "pass", "created": "2026-01-01T00:00:00Z"}


class Local:
    """The engine; `python` (an option of another engine's in the real ones) is not taken."""

    name = "local"

    def __init__(self, address: str = "") -> None:
        self._broken = address == "broken"
        if address == "missing":
            raise EngineError("There is no local engine here.")

    def targets(self, request: str) -> Sequence[FleetTarget]:
        if request == "nonsense":
            raise EngineError('"nonsense" is not a node set.')
        names = [name for name in request.split(",") if name]
        return [FleetTarget(node=name, why_not="It is down." if name.startswith("down") else "") for name in names]

    def run(self, targets: Sequence[FleetTarget], job: NodeJob, tell: Tell, stop: Event) -> None:
        with ThreadPoolExecutor(job.fan) as pool:
            list(pool.map(lambda target: self._ask(target.node, job, tell, stop), targets))
        if self._broken:
            raise EngineError("The local engine broke.")

    def shown(self, target: FleetTarget, job: NodeJob) -> str:
        return " ".join(argv(target.node, job)[:1])

    def _ask(self, node: str, job: NodeJob, tell: Tell, stop: Event) -> None:
        if stop.is_set() or (self._broken and not node.startswith("real")):
            return
        with subprocess.Popen(argv(node, job), stdout=subprocess.PIPE, text=True) as child:
            for line in child.stdout or ():
                tell(NodeLine(node, line.rstrip("\n")))
                if "hello" in line and node.startswith(("hang", "deaf")) and (folder := os.environ.get("MARK")):
                    open(os.path.join(folder, node), "w").close()
                if "hello" in line and node.startswith("hang"):
                    stop.wait(job.seconds)
                    child.terminate()
            code = child.wait()
        tell(Over(node, "timed out" if code < 0 and not stop.is_set() else "failed", f"It ended with {code}."))


def argv(node: str, job: NodeJob) -> list[str]:
    """What runs for a node."""
    if node.startswith("real"):
        return [sys.executable, "-m", *job.argv]
    if node.startswith(("hang", "deaf")):
        return [sys.executable, "-c", HANGS.format(hello=protocol.hello(node))]
    if node.startswith("dead"):
        return [sys.executable, "-c", "raise SystemExit(7)"]
    lines = [protocol.hello(node), *protocol.lines(node, json.dumps(REPORT).encode())]
    lines = ["Welcome!", *lines, "logout"] if node.startswith("noise") else lines
    return [sys.executable, "-c", "print(" + repr("\n".join(lines)) + ")"]


def made(name: str, **options: object) -> Local:
    """The engine in place of all others."""
    assert name == "local"
    return Local(**options)  # type: ignore[arg-type]


def install() -> None:
    """Make it one of the engines."""
    engines.ENGINES["local"] = ("local", "Local")
    engines.engine = made


if __name__ == "__main__":
    install()
    from gpudoctor.__main__ import main

    main()
