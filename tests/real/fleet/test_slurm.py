"""A fleet asked by a real Slurm: a controller and four slurmd on this host, well and in every way not."""

import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event

import msgspec
import pytest

from gpudoctor.child import run as run_child
from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, NodeLine, Over
from gpudoctor.fleet.runner.engines import slurm_messages, slurm_task
from gpudoctor.fleet.runner.engines.slurm import Slurm
from gpudoctor.fleet.runner.ledger import LedgerEntry
from gpudoctor.fleet.runner.orchestrator import conduct
from gpudoctor.fleet.runner.report_store import landed
from gpudoctor.fleet.runner.run_directory import Run, RunDirectory
from gpudoctor.report.model import Report
from tests.real import slurm_cluster
from tests.real.slurm_cluster import Cluster

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(why := slurm_cluster.why_not()), reason=why),
]
PATIENCE = 10.0  # seconds: a controller on a busy machine takes some until a job starts
NODES = ("node1", "node2", "node3", "node4")
COMMAND = (sys.executable, "-m", "gpudoctor", "fleet", "node", "--quick", "--timeout")
# Says hello as every node does, and does no more.
GREETS = """\
#!/bin/sh
echo $$ >{folder}/pid.$SLURMD_NODENAME
echo "gpudoctor-fleet/1 $SLURMD_NODENAME hello"
case $SLURMD_NODENAME in
    {cases}
    *) exec {real} ;;
esac
"""
HANGS = "trap '' TERM HUP; while sleep 1; do :; done"
DIES = "for second in $(seq 90); do sleep 1; done"  # nobody is left to end it but the test


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("slurm")
    made = Cluster(folder)
    for number in range(3):
        (folder / f"gpu{number}").touch()
    gres = f"NodeName=node1 Name=gpu Type=h100 File={folder}/gpu[0-1]\nNodeName=node1 Name=gpu Type=a100 File="
    (folder / "gres.conf").write_text(f"{gres}{folder}/gpu2\n")
    lines = [slurm_cluster.node("node1", "CPUs=1 Gres=gpu:h100:2,gpu:a100:1"), *map(slurm_cluster.node, NODES[1:])]
    # A node that does not respond is down within half a minute, so that srun learns of its end.
    made.configure("SelectType=select/cons_tres", "GresTypes=gpu", "SlurmdTimeout=5", *lines)
    try:
        made.start(NODES)
        yield made
    finally:
        made.stop()


@pytest.fixture(autouse=True)
def idle(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every node takes jobs when a test begins, and what ran on one that died is ended when the test is over."""
    for name in os.environ:
        if name.startswith("SLURM_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SLURM_CONF", cluster.env["SLURM_CONF"])
    cluster.bring_up([name for name in NODES if cluster.slurmds[name].poll() is not None])
    for name in NODES:
        if cluster.node("State", name).startswith(("DOWN", "DRAIN", "IDLE+DRAIN")):
            assert cluster.run("scontrol", "update", f"nodename={name}", "state=resume").returncode == 0
        cluster.until(lambda name=name: cluster.node("State", name) == "IDLE", name)  # type: ignore[misc]
    yield
    for name in NODES:
        if runs(cluster, name):
            os.kill(int((cluster.folder / f"pid.{name}").read_text()), signal.SIGKILL)


def asked(
    cluster: Cluster, into: Path, job: NodeJob, targets: Sequence[FleetTarget] | None = None, stop: Event | None = None
) -> dict[str, LedgerEntry]:
    """The ledger of a run over all nodes, after which no report is lost and nothing is left in the queue."""
    engine = Slurm(patience=PATIENCE)
    folder = RunDirectory(str(into), Run(engine="slurm"))
    try:
        outcome = conduct(engine, targets or engine.targets(""), job, folder, stop)
        entries = dict(folder.ledger.entries)
        reported = {node for node, entry in entries.items() if entry.state == "reported"}
        assert reported == {node for node in NODES if landed(folder.reports, node)}
        assert outcome.standing.reported == len(reported)
    finally:
        folder.close()
    assert sorted(entries) == sorted(NODES)
    return entries


def greeter(cluster: Cluster, **cases: str) -> tuple[str, ...]:
    """A command that does something else on some nodes, and examines the others."""
    file = cluster.folder / "greets"
    told = "\n    ".join(f"{node}) {does} ;;" for node, does in cases.items())
    file.write_text(GREETS.format(folder=cluster.folder, cases=told, real=shlex.join((*COMMAND, "30"))))
    file.chmod(0o755)
    return (str(file),)


def when_it_has_begun(cluster: Cluster, node: str, then: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Do something once, as soon as a node has said hello."""
    line, left = slurm_task.SlurmTask._line, [then]

    def told(self: slurm_task.SlurmTask, text: str) -> None:
        line(self, text)
        if f" {node} hello" in text and left:
            left.pop()()

    monkeypatch.setattr(slurm_task.SlurmTask, "_line", told)


def runs(cluster: Cluster, node: str) -> bool:
    """Whether the last command of a node is there still."""
    try:
        pid = (cluster.folder / f"pid.{node}").read_text().strip()
        return str(cluster.folder / "greets") in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


def test_all_four_report(cluster: Cluster, tmp_path: Path) -> None:
    entries = asked(cluster, tmp_path, NodeJob((*COMMAND, "60"), 60.0))
    assert {node: entry.state for node, entry in entries.items()} == dict.fromkeys(NODES, "reported"), entries
    for node in NODES:
        report = msgspec.json.decode((tmp_path / "reports" / f"{node}.json").read_bytes(), type=Report)
        assert report.findings
    cluster.until(lambda: cluster.queue() == [], "the end of its jobs")


def test_every_node_that_is_not_well_is_accounted_for(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm_task, "GRACE", 1.0)
    reason = "state=down", "reason=a new fan | burnt."
    assert cluster.run("scontrol", "update", "nodename=node4", *reason).returncode == 0
    when_it_has_begun(cluster, "node3", lambda: cluster.kill_node("node3"), monkeypatch)
    command = greeter(cluster, node1="echo ouch >&2; exit 3", node2=HANGS, node3=DIES)
    entries = asked(cluster, tmp_path, NodeJob(command, 5.0))
    assert (entries["node1"].state, entries["node1"].why) == (
        "failed",
        "The command failed there with exit code 3 (ouch).",
    )
    assert (entries["node2"].state, entries["node2"].why) == (
        "timed out", "It did not finish within its limit of 5 s and was canceled.",
    )  # fmt: skip
    assert entries["node3"].state == "unreachable"
    assert "Slurm has lost contact with it" in entries["node3"].why
    assert (entries["node4"].state, entries["node4"].why) == (
        "not asked", "Slurm reports it as down: a new fan | burnt.",
    )  # fmt: skip
    assert not runs(cluster, "node2")
    cluster.until(lambda: cluster.queue() == [], "the end of what ran on the dead node")


def test_a_node_that_dies_in_mid_run_has_not_reported_though_srun_ends_with_0(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = []

    def verdict(code: int | None, words: Sequence[str], began: bool) -> tuple[str, str]:
        codes.append((code, [word for word in words if "Node failure" in word][:1]))
        return real(code, words, began)

    real = slurm_messages.verdict
    monkeypatch.setattr(slurm_messages, "verdict", verdict)
    when_it_has_begun(cluster, "node3", lambda: cluster.kill_node("node3"), monkeypatch)
    entries = asked(cluster, tmp_path, NodeJob(greeter(cluster, node3=DIES), 80.0))
    assert [entries[node].state for node in NODES] == ["reported", "reported", "unreachable", "reported"]
    assert entries["node3"].why == "Slurm reports: Node failure on node3."
    assert (0, ["srun: error: Node failure on node3"]) in codes
    cluster.until(lambda: cluster.queue() == [], "the end of its jobs")


def test_a_busy_node_keeps_its_job_and_holds_nobody_up(cluster: Cluster, tmp_path: Path) -> None:
    held = cluster.run("sbatch", "--nodelist=node2", "--job-name=theirs", "--output=/dev/null", "--wrap", "sleep 60")
    assert held.returncode == 0, held.stderr
    cluster.until(lambda: cluster.queue() == ["theirs RUNNING"], "the job of somebody else")
    entries = asked(cluster, tmp_path, NodeJob((*COMMAND, "60"), 60.0))
    assert [entries[node].state for node in NODES] == ["reported", "not asked", "reported", "reported"]
    assert entries["node2"].why == "The node was busy: its job did not start within 10 s (Resources)."
    cluster.until(lambda: cluster.queue() == ["theirs RUNNING"], "the end of its jobs")
    assert cluster.run("scancel", "--name=theirs").returncode == 0


def test_the_end_of_a_run_leaves_nothing_behind(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Event()
    when_it_has_begun(cluster, "node2", stop.set, monkeypatch)
    targets = [FleetTarget(node=name) for name in NODES]
    command = greeter(cluster, **dict.fromkeys(NODES, HANGS))
    entries = asked(cluster, tmp_path, NodeJob(command, 60.0, fan=2), targets, stop)
    assert {entry.state for entry in entries.values()} <= {"failed", "not asked"}
    assert entries["node2"].state == "failed"
    assert entries["node4"].state == "not asked"
    cluster.until(lambda: cluster.queue() == [], "the end of its jobs")
    assert not runs(cluster, "node2")


def test_a_job_has_all_gpus_and_what_the_user_adds(cluster: Cluster) -> None:
    engine = Slurm(options=("--comment=by the test",))
    targets = engine.targets("node[1-2]")
    assert [(one.node, one.gpus, one.why_not) for one in targets] == [("node1", 3, ""), ("node2", None, "")]
    told: list[NodeLine | Over] = []
    shows = "echo $SLURMD_NODENAME $SLURM_GPUS_ON_NODE; scontrol show job $SLURM_JOB_ID | grep Comment="
    engine.run(targets, NodeJob(("sh", "-c", shows), 20.0), told.append, Event())
    lines = {(one.node, one.text.strip()) for one in told if isinstance(one, NodeLine)}
    assert lines == {
        ("node1", "node1 3"), ("node2", "node2"), ("node1", "Comment=by the test"), ("node2", "Comment=by the test"),
    }  # fmt: skip


def test_what_slurm_does_not_know_or_refuses(cluster: Cluster) -> None:
    with pytest.raises(EngineError, match=r"Slurm has no node node\[8-9\]\."):
        Slurm().targets("node[8-9]")
    with pytest.raises(EngineError, match="Slurm has no nodes in a partition gone"):
        Slurm(partition="gone").targets("")
    told: list[NodeLine | Over] = []
    engine = Slurm(options=("--gres=gpu:9",), partition="all")
    engine.run(engine.targets("node2"), NodeJob(("true",), 20.0), told.append, Event())
    assert told == [
        Over(
            "node2",
            "refused",
            "Slurm reports: Unable to allocate resources: Requested node configuration is not available.",
        )
    ]


def test_the_command_line_over_a_real_slurm(cluster: Cluster, tmp_path: Path) -> None:
    program = shlex.join((sys.executable, "-m", "gpudoctor"))
    argv = [sys.executable, "-m", "gpudoctor", "fleet", "run", "slurm", "node[1-4]", "--output", str(tmp_path / "run")]
    begun = time.monotonic()
    ended = run_child([*argv, "--quick", "--with", program, "--json"], timeout=120, env=cluster.env)
    assert ended.code in (0, 1, 3), ended.err
    assert msgspec.json.decode(ended.out)
    assert sorted(one.name for one in (tmp_path / "run" / "reports").iterdir()) == [f"{name}.json" for name in NODES]
    assert time.monotonic() - begun < 120
