"""A fleet asked by real ssh: nodes in network namespaces, with an sshd each; some are well, others ill in every way."""

import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from gpudoctor.fleet.runner.engine import FleetTarget, NodeJob, NodeLine, Over
from gpudoctor.fleet.runner.engines.clustershell import ClusterShell
from gpudoctor.fleet.runner.ledger import LedgerEntry
from gpudoctor.fleet.runner.orchestrator import conduct
from gpudoctor.fleet.runner.run_directory import Run, RunDirectory
from gpudoctor.report.model import Report
from tests.real.ssh_nodes import SECONDS, Nodes, why_not

WHY_NOT = why_not()
pytestmark = [pytest.mark.ssh, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)]
LIMIT = 20.0  # seconds of a node: a quick check takes one or two
JOB = NodeJob(("gpudoctor", "fleet", "node", "--quick", "--timeout", str(LIMIT)), LIMIT)
OURS = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m gpudoctor "$@"\n'
# Says hello as every node does, and then something else happens.
GREETS = """\
#!/bin/sh
echo 'gpudoctor-fleet/1 {node} hello'
{then}
"""
# An examination that takes long.
BUSY = """
import time
from gpudoctor.fleet.runner import node, protocol
node.only_lines()(protocol.hello("hangs2"))
time.sleep(600)
"""


class Lab:
    """The nodes, and the engine that reaches them.

    Args:
        nodes: that are up.
        folder: of the run.
    """

    def __init__(self, nodes: Nodes, folder: Path) -> None:
        self.nodes, self.folder = nodes, folder
        alive = ("-oServerAliveInterval=1", "-oServerAliveCountMax=3")
        self.engine = ClusterShell(options=("-F", str(nodes.config), *alive), connect=4)
        self.begun: dict[str, Callable[[], None]] = {}  # what happens when a node has begun

    @property
    def name(self) -> str:
        return self.engine.name

    def greets(self, node: str, then: str) -> None:
        """The node's gpudoctor says hello and does something else."""
        self.nodes.program(node, "gpudoctor", GREETS.format(node=node, then=then))

    def targets(self, wish: str) -> Sequence[FleetTarget]:
        return self.engine.targets(wish)

    def run(
        self,
        targets: Sequence[FleetTarget],
        job: NodeJob,
        tell: Callable[[NodeLine | Over], None],
        stop: threading.Event,
    ) -> None:
        """The engine's run, in which something happens to nodes that have begun."""

        def hear(told: NodeLine | Over) -> None:
            tell(told)
            if isinstance(told, NodeLine) and told.text.endswith(" hello") and told.node in self.begun:
                self.begun.pop(told.node)()

        self.engine.run(targets, job, hear, stop)

    def ask(self, wish: str, job: NodeJob = JOB, stop: threading.Event | None = None) -> dict[str, LedgerEntry]:
        """Conduct a run, or go on with it; gives what the ledger says."""
        folder = RunDirectory(str(self.folder), Run(engine="ssh", nodes=wish, command=job.argv, seconds=job.seconds))
        try:
            conduct(self, folder.waiting(self.targets(wish)), job, folder, stop)
            return dict(folder.ledger.entries)
        finally:
            folder.close()

    def reports(self) -> dict[str, Report]:
        """The reports that have landed."""
        files = (self.folder / "reports").iterdir()
        return {file.stem: msgspec.json.decode(file.read_bytes(), type=Report) for file in files}

    def ours(self) -> list[str]:
        """The command lines of ssh that use our configuration, and run here: a gateway's own are not ours to end."""
        here, found = os.readlink("/proc/self/ns/net"), []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
                there = os.readlink(process / "ns/net")
            except OSError:
                continue
            if there == here and str(self.nodes.config) in words and "ssh" in words[0]:
                found.append(" ".join(words))
        return found


@pytest.fixture
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    (files := tmp_path / "nodes").mkdir()
    nodes = Nodes(files, request.param)
    try:
        nodes.start()
        for name in nodes.names:
            nodes.program(name, "gpudoctor", OURS)
        yield Lab(nodes, tmp_path / "run")
    finally:
        nodes.stop()


ILL = ("down", "closed", "wrongkey", "changed", "bare", "cut", "lost", "killed", "hangs")


@pytest.mark.parametrize("lab", [("well1", "well2", "well3", *ILL)], indirect=True)
def test_every_node_ends_in_the_ledger_as_it_should_and_a_second_run_asks_the_rest(lab: Lab) -> None:
    nodes = lab.nodes
    nodes.cut("down")
    nodes.silence("closed")
    nodes.lock("wrongkey")
    nodes.known.write_text(nodes.known.read_text().replace(nodes.host_key("changed", "changed"), ""))
    with nodes.known.open("a") as known:
        known.write(nodes.host_key("changed", "well1"))
    (nodes.home("bare") / "bin" / "gpudoctor").unlink()
    for name in ("cut", "lost", "hangs"):
        lab.greets(name, f"sleep {2 * LIMIT}")
    lab.begun = {"cut": lambda: nodes.cut("cut"), "lost": lambda: nodes.hang_up("lost")}
    lab.greets("killed", "kill -9 $$")

    entries = lab.ask(",".join(nodes.names))

    states = {name: entry.state for name, entry in entries.items()}
    assert states == {
        **dict.fromkeys(("well1", "well2", "well3"), "reported"),
        **dict.fromkeys(("down", "closed", "cut", "lost"), "unreachable"),
        **dict.fromkeys(("wrongkey", "changed"), "refused"),
        **dict.fromkeys(("bare", "killed"), "failed"),
        "hangs": "timed out",
    }
    message = {
        "closed": "Connection refused",
        "wrongkey": "Permission denied (publickey)",
        "changed": "Host key verification failed",
        "bare": "gpudoctor does not start there (",
        "cut": "during the run: Timeout, server",
        "lost": "during the run: Connection to",
        "killed": "killed there by a signal",
        "hangs": "It did not finish within",
    }
    assert {name: words for name, words in message.items() if words not in entries[name].why} == {}
    assert entries["down"].why.startswith("ssh: connect to host ")
    assert sorted(lab.reports()) == ["well1", "well2", "well3"]
    assert all(report.summary.passed for report in lab.reports().values())
    assert lab.ours() == [], "no ssh is left"

    before = (lab.folder / "reports" / "well1.json").read_bytes()
    nodes.plug("down")
    nodes.plug("cut")
    for name in ("cut", "lost", "hangs", "killed", "bare"):
        nodes.program(name, "gpudoctor", OURS)
    entries = lab.ask("well[1-3],down,cut,lost,hangs,killed,bare")
    mended = {name for name, entry in entries.items() if entry.state == "reported"}
    assert mended == set(nodes.names) - {"closed", "wrongkey", "changed"}
    assert set(lab.reports()) == mended
    assert (lab.folder / "reports" / "well1.json").read_bytes() == before, "who has reported is not asked again"


@pytest.mark.parametrize("lab", [("well1", "hangs1", "hangs2", "away")], indirect=True)
def test_a_run_that_is_ended_leaves_nothing_behind_and_loses_nothing(lab: Lab) -> None:
    stop = threading.Event()
    lab.nodes.cut("away")
    lab.greets("hangs1", f"exec sleep {2 * LIMIT}")
    lab.nodes.program("hangs2", "gpudoctor", f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -c '{BUSY}'\n")

    def soon() -> None:
        _until(lambda: (lab.folder / "reports" / "well1.json").exists(), "well1 does not report")
        stop.set()

    watch = threading.Thread(target=soon)
    watch.start()
    entries = lab.ask("well1,hangs[1-2],away", stop=stop)
    watch.join()
    assert entries.pop("well1").state == "reported"
    assert set(entries) == {"hangs1", "hangs2", "away"}
    assert {entry.state for entry in entries.values()} <= {"failed", "not asked", "unreachable"}
    assert lab.ours() == [], "no ssh is left"
    _until(lambda: len(lab.nodes.processes("hangs2")) == 1, "what ran on the node goes on without us")  # its sshd's


@pytest.mark.parametrize("lab", [("gate", "behind1", "behind2", "behind3")], indirect=True)
def test_a_tree_goes_through_its_gateway(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The nodes behind let nobody in but their gateway, which knows how to reach them."""
    here = os.uname().nodename.partition(".")[0]
    tree = lab.nodes.folder / "topology.conf"
    tree.write_text(f"[routes]\n{here}: gate\ngate: behind[1-3]\n")
    monkeypatch.setenv("CLUSTERSHELL_GW_PYTHON_EXECUTABLE", sys.executable)
    for name in ("behind1", "behind2", "behind3"):
        with (lab.nodes.home(name) / "authorized_keys").open("r+") as keys:
            line = keys.read()
            keys.seek(0)
            keys.write(f'from="{lab.nodes.address("gate")}" {line}')
    lab.nodes.program("behind3", "gpudoctor", "#!/bin/sh\necho no driver at all >&2\nexit 3\n")
    assert {one.state for one in lab.ask("behind[1-2]").values()} == {"refused"}, "not directly"

    lab.engine = ClusterShell(options=("-F", str(lab.nodes.config)), connect=4, topology=str(tree))
    entries = lab.ask("behind[1-3]")
    assert {name: entry.state for name, entry in entries.items()} == {
        "behind1": "reported", "behind2": "reported", "behind3": "failed",
    }  # fmt: skip
    assert entries["behind3"].why == "The command failed there with exit code 3 (no driver at all)."
    assert sorted(lab.reports()) == ["behind1", "behind2"]
    _until(lambda: lab.ours() == [], f"a gateway is left: {lab.ours()}")


@pytest.mark.parametrize("lab", [("gate", "behind1", "behind2")], indirect=True)
def test_a_gateway_that_is_lost_takes_no_node_out_of_the_ledger(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.uname().nodename.partition(".")[0]
    tree = lab.nodes.folder / "topology.conf"
    tree.write_text(f"[routes]\n{here}: gate\ngate: behind[1-2]\n")
    monkeypatch.setenv("CLUSTERSHELL_GW_PYTHON_EXECUTABLE", sys.executable)
    for name in ("behind1", "behind2"):
        lab.greets(name, f"sleep {2 * LIMIT}")
    lab.begun = {"behind1": lambda: lab.nodes.hang_up("gate")}
    lab.engine = ClusterShell(options=("-F", str(lab.nodes.config)), connect=4, topology=str(tree))
    entries = lab.ask("behind[1-2]")
    assert {name: entry.state for name, entry in entries.items()} == {
        "behind1": "unreachable", "behind2": "unreachable",
    }  # fmt: skip
    assert all("The connection to the gateway was lost" in entry.why for entry in entries.values())
    assert lab.ours() == []


@pytest.mark.parametrize("lab", [("gate", "behind")], indirect=True)
def test_a_jump_host_leaves_no_process_behind(lab: Lab) -> None:
    """A ProxyJump is a second ssh that the first one starts, and has to end with it."""
    lab.greets("behind", f"sleep {2 * LIMIT}")
    lab.nodes.config.write_text(f"Host behind\n    ProxyJump gate\n{lab.nodes.config.read_text()}")
    seen: list[str] = []
    stop = threading.Event()

    def begun() -> None:
        seen.extend(lab.ours())
        lab.nodes.cut("gate")  # so that the jump host's ssh does not end by itself
        stop.set()

    lab.begun = {"behind": begun}
    lab.ask("behind", stop=stop)
    assert len(seen) == 2, seen
    _until(lambda: lab.ours() == [], f"ssh is left: {lab.ours()}")


def _until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)
