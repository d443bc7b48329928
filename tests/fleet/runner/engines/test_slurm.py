"""The Slurm engine over programs that stand in for Slurm's; the real ones are in tests/real/fleet/test_slurm.py."""

import os
import re
from pathlib import Path
from threading import Event

import pytest

from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, NodeLine, Over
from gpudoctor.fleet.runner.engines import slurm_task
from gpudoctor.fleet.runner.engines.slurm import Slurm
from gpudoctor.fleet.runner.engines.slurm_commands import environment
from gpudoctor.fleet.runner.engines.slurm_task import Way, command

NODES = """\
node1|idle|up|all*|gpu:h100:8(S:0-1)|none
node1|idle|up|big|gpu:h100:8(S:0-1)|none
node2|idle|up|big|(null)|none
node3|down*|up|all*|gpu:8|burnt
"""
JOB = NodeJob(("gpudoctor", "fleet", "node"), 61.0)
pytestmark = pytest.mark.skipif(os.name != "posix", reason="the programs that stand in are of a POSIX shell")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of programs: sinfo that knows NODES, srun that runs its command here, a queue that is empty."""
    (tmp_path / "nodes").write_text(NODES)
    program(tmp_path, "sinfo", f'echo "$@" >>{tmp_path}/asked; cat {tmp_path}/nodes')
    program(tmp_path, "srun", f'echo "$@" >>{tmp_path}/ran; while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
    program(tmp_path, "squeue", ":")
    program(tmp_path, "scancel", f'echo "$@" >>{tmp_path}/cancelled')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for name in ("SLURM_PARTITION", "SLURM_RESERVATION"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def program(folder: Path, name: str, does: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{does}\n")
    (folder / name).chmod(0o755)


def ran(engine: Slurm, targets: list[FleetTarget], *argv: str, stop: Event | None = None) -> list[NodeLine | Over]:
    reported: list[NodeLine | Over] = []
    engine.run(targets, NodeJob(argv, 20.0), reported.append, stop or Event())
    return reported


def test_all_nodes_or_those_that_are_wished_for(slurm: Path) -> None:
    assert [(one.node, one.gpus, one.plain) for one in Slurm().targets("")] == [
        ("node1", 8, False), ("node2", None, True), ("node3", 8, False),
    ]  # fmt: skip
    assert not any(one.plain for one in Slurm().targets("node[1-2]"))  # who names a node wants it to be asked
    (slurm / "nodes").write_text("node1|idle|up|all*|(null)|none\n")
    assert not any(one.plain for one in Slurm().targets(""))  # Slurm knows of no GPU at all
    (slurm / "nodes").write_text(NODES)
    (slurm / "asked").unlink()
    Slurm().targets("")
    assert [one.node for one in Slurm().targets("node[1,3]")] == ["node1", "node3"]
    assert [one.node for one in Slurm(partition="all").targets("node1")] == ["node1"]
    everyone, requested, partition = (slurm / "asked").read_text().splitlines()
    assert "--all" not in everyone
    assert "--all" in requested
    assert "--partition=all" in partition
    assert "--all" not in partition


@pytest.mark.parametrize(
    ("requested", "partition", "why"),
    [
        ("node[2-5]", None, "Slurm has no node node[4-5]."),
        ("node[1", None, '"node[1" is not a node set: '),
        ("node1!node1", None, '"node1!node1" selects no node.'),
        ("node9", "all", "Slurm has no node node9 in the partition all."),
    ],
)
def test_a_wish_that_means_nothing_to_slurm(slurm: Path, requested: str, partition: str | None, why: str) -> None:
    with pytest.raises(EngineError, match=f"^{re.escape(why)}"):
        Slurm(partition=partition).targets(requested)


def test_a_partition_that_is_not_there(slurm: Path) -> None:
    (slurm / "nodes").write_text("")
    with pytest.raises(EngineError, match=r"Slurm has no nodes in a partition gone\."):
        Slurm(partition="gone").targets("")


def test_a_controller_that_does_not_answer(slurm: Path) -> None:
    program(slurm, "sinfo", "echo 'slurm_load_partitions: Unable to contact slurm controller' >&2; exit 1")
    with pytest.raises(
        EngineError, match="does not list its nodes: slurm_load_partitions: Unable to contact slurm controller"
    ):
        Slurm().targets("")


def test_no_slurm_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match=r"sinfo cannot be started \(No such file or directory\)"):
        Slurm().targets("")
    with pytest.raises(EngineError, match="srun is not installed"):
        Slurm().run([FleetTarget(node="node1")], JOB, print, Event())


def test_the_command_of_a_node() -> None:
    argv = command(FleetTarget(node="node1", gpus=8), JOB, Way(("--qos=high",), 60.0, "big"), "gpudoctor-1")
    assert argv[:6] == [
        "srun", "--nodes=1", "--ntasks=1", "--nodelist=node1", "--job-name=gpudoctor-1", "--time=3",
    ]  # fmt: skip
    assert argv[-7:] == ["--partition=big", "--gres=gpu:8", "--qos=high", "--", "gpudoctor", "fleet", "node"]


@pytest.mark.parametrize(("gpus", "wanted"), [(8, False), (0, True), (None, True)])
def test_gpus_are_asked_for_where_there_are_any(gpus: int | None, wanted: bool) -> None:
    argv = command(FleetTarget(node="node1", gpus=gpus), JOB._replace(gpus=wanted), Way(), "gpudoctor-1")
    assert not [one for one in argv if one.startswith(("--gres", "--partition"))]


def test_what_goes_along_from_the_callers_environment() -> None:
    kept = {
        "PATH": "/bin",
        "HOME": "/root",
        "SLURM_CONF": "/etc/slurm.conf",
        "SLURM_ACCOUNT": "ops",
        "NCCL_DEBUG": "INFO",
    }
    gone = {"SLURM_JOB_ID": "5", "SLURM_STDOUTMODE": "/file", "SRUN_DEBUG": "3", "SCANCEL_INTERACTIVE": "1",
            "CUDA_VISIBLE_DEVICES": "0", "SSH_AUTH_SOCK": "/tmp/x", "DISPLAY": ":0", "TMPDIR": "/tmp/mine"}  # fmt: skip
    assert environment({**kept, **gone}) == kept


def test_every_node_is_asked_once_where_slurm_starts_jobs_on_it(slurm: Path) -> None:
    engine = Slurm()
    targets = list(engine.targets(""))
    reported = ran(engine, targets, "sh", "-c", "echo gpudoctor-fleet/1 x hello")
    assert {one.node: one.state for one in reported if isinstance(one, Over)} == {
        "node1": "failed", "node2": "failed", "node3": "not asked",
    }  # fmt: skip
    assert sorted(one for one in reported if isinstance(one, NodeLine)) == [
        ("node1", "gpudoctor-fleet/1 x hello"), ("node2", "gpudoctor-fleet/1 x hello"),
    ]  # fmt: skip
    lines = sorted((slurm / "ran").read_text().splitlines(), key=lambda line: "node2" in line)
    assert "--nodelist=node1" in lines[0]
    assert "--partition=all --gres=gpu:8 --" in lines[0]
    assert "--partition=big --" in lines[1]
    assert len({one for line in lines for one in line.split() if one.startswith("--job-name")}) == 2


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("Priority", "The node was busy: its job did not start within 0.3 s (Priority)."),
        ("PartitionTimeLimit", "Its job did not start within 0.3 s (PartitionTimeLimit)."),
        ("None", "Its job did not start within 0.3 s (Partition in DOWN state)."),
    ],
)
def test_a_node_that_stays_busy_is_not_asked_and_its_job_is_taken_back(slurm: Path, reason: str, why: str) -> None:
    program(slurm, "srun", "echo 'srun: Partition in DOWN state' >&2; trap 'exit 1' TERM; sleep 30 & wait")
    program(slurm, "squeue", f"[ -e {slurm}/cancelled ] || echo '7|PENDING|{reason}'")
    reported = ran(Slurm(patience=0.3), [FleetTarget(node="node1")], "true")
    assert reported == [Over("node1", "not asked", why)]
    assert (slurm / "cancelled").read_text().splitlines() == ["--quiet --signal=KILL 7", "--quiet 7"]


def test_a_job_that_was_started_gets_its_time_to_say_hello(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_task, "GRACE", 0.0)
    program(slurm, "srun", "sleep 1; echo gpudoctor-fleet/1 x hello")
    program(slurm, "squeue", "echo '7|RUNNING|None'")
    reported = ran(Slurm(patience=0.1), [FleetTarget(node="node1")], "true")
    assert reported == [
        NodeLine("node1", "gpudoctor-fleet/1 x hello"),
        Over("node1", "failed", "srun succeeded, but no report arrived."),
    ]


def test_a_queue_that_nobody_can_read_is_not_taken_for_a_busy_node(
    slurm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm_task, "_GONE", 0.0)
    program(slurm, "srun", "sleep 30")
    program(slurm, "squeue", "exit 1")
    reported = ran(Slurm(patience=0.1), [FleetTarget(node="node1")], "true")
    assert reported == [Over("node1", "unreachable", "It sent nothing, and Slurm gives no reason.")]


def test_one_that_said_hello_and_hangs_is_ended(slurm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_task, "GRACE", -19.5)
    program(slurm, "sinfo", "echo idle")
    reported = ran(Slurm(), [FleetTarget(node="node1")], "sh", "-c", "echo gpudoctor-fleet/1 x hello; sleep 30")
    assert reported[-1] == Over("node1", "timed out", "It did not finish within its limit of 20 s and was canceled.")
    program(slurm, "sinfo", "echo 'completing*'")
    reported = ran(Slurm(), [FleetTarget(node="node1")], "sh", "-c", "echo gpudoctor-fleet/1 x hello; sleep 30")
    why = "It started and then sent nothing, and Slurm has lost contact with it (completing*)."
    assert reported[-1] == Over("node1", "unreachable", why)


def test_after_the_end_of_the_run_nobody_is_asked(slurm: Path) -> None:
    stop = Event()
    stop.set()
    reported = ran(Slurm(), [FleetTarget(node="node1"), FleetTarget(node="node2")], "true", stop=stop)
    assert reported == [Over(f"node{n}", "not asked", "The run was stopped first.") for n in (1, 2)]
    assert not (slurm / "ran").exists()


def test_what_tell_raises_ends_the_run(slurm: Path) -> None:
    def tell(_told: NodeLine | Over) -> None:
        raise OSError("no space is left")

    targets = [FleetTarget(node=f"node{n}") for n in range(20)]
    with pytest.raises(OSError, match="no space is left"):
        Slurm().run(targets, NodeJob(("true",), 20.0, fan=2), tell, Event())
    assert len((slurm / "ran").read_text().splitlines()) <= 2
