"""`gpudoctor fleet run --dry-run` shows what would run, for every engine, and leaves nothing; the default directory."""

import argparse
import re
import shlex
from pathlib import Path

import pytest

from gpudoctor.cli.fleet.dry_run import shown
from gpudoctor.fleet.runner.engine import FleetTarget, NodeJob
from gpudoctor.fleet.runner.engines.ray import Ray
from gpudoctor.fleet.runner.engines.ray_nodes import RayNode
from gpudoctor.fleet.runner.engines.slurm import Slurm
from tests.cli.conftest import Run
from tests.cli.fleets import states

JOB = NodeJob(("/opt/g p/gpudoctor", "fleet", "node", "--timeout", "180"), 180.0)
COMMAND = "'/opt/g p/gpudoctor' fleet node --timeout 180"


def test_it_counts_and_names_and_leaves_nothing(
    fleet: Run, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("fleet", "run", "local", "a,b,down1,b", "--dry-run", "--jobs", "1", "--timeout", "30")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Dry run: nothing is started and nothing is written.\n")
    assert "nodes     2 nodes: a,b\n" in ran.out or "nodes     2 nodes: [a-b]\n" in ran.out
    assert "skipped   1 (down1): It is down.\n" in ran.out
    assert "limits    1 at once, 30 s per node\n" in ran.out
    assert re.search(r"results   gpudoctor-fleet-\d{4}-\d\d-\d\d \(new directory\)\n", ran.out)
    assert list(tmp_path.iterdir()) == []


def test_nodes_that_have_reported_are_skipped(fleet: Run, tmp_path: Path) -> None:
    assert fleet("a").code == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
    ran = fleet("a,b", "--dry-run")
    assert "nodes     1 node: b\n" in ran.out
    assert "skipped   1 already reported: a\n" in ran.out
    assert f"results   {tmp_path}/run (exists)\n" in ran.out
    assert "nodes     2 nodes" in fleet("a,b", "--dry-run", "--rerun").out
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")} == before


def test_each_run_has_a_directory_of_its_own(
    fleet: Run, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        ran = run("fleet", "run", "local", "a")
        assert ran.code == 0
        assert ran.err.startswith("gpudoctor: The results go to gpudoctor-fleet-2")
    first, second = sorted(path.name for path in tmp_path.iterdir())
    assert second == f"{first}-2"
    assert (tmp_path / second / "reports" / "a.json").exists()
    assert run("fleet", "run", "local", "b", "--output", first).code == 0
    (tmp_path / first).rename(tmp_path / "run")
    assert states(tmp_path) == {"a": "reported", "b": "reported"}


def test_slurm_shows_its_srun() -> None:
    shown = Slurm(("--qos=high",), "gpu").shown(FleetTarget(node="n1", gpus=8), JOB)
    words = shlex.split(shown)
    assert words[:4] == ["srun", "--nodes=1", "--ntasks=1", "--nodelist=n1"]
    assert {"--partition=gpu", "--gres=gpu:8", "--qos=high"} <= set(words)
    assert shown.endswith(f"-- {COMMAND}")


def test_nodes_without_gpus_are_skipped_unless_somebody_names_them() -> None:
    options = argparse.Namespace(output="run", rerun=False, pairs=False)
    nodes = [FleetTarget(node="cpu1", plain=True), FleetTarget(node="gpu1", gpus=8), FleetTarget(node="gpu2", gpus=4)]
    text = shown(Slurm(), nodes, JOB, options)
    assert "nodes     2 nodes: gpu[1-2]\nskipped   1 without GPUs (cpu1): name them to check them too\n" in text
    assert "gpu1, the others with the number of their GPUs:\n" in text
    assert "nodes     3 nodes" in shown(Slurm(), nodes, JOB._replace(gpus=False), options)


def test_ssh_shows_what_clustershell_starts(run: Run) -> None:
    pytest.importorskip("ClusterShell")
    ran = run("fleet", "run", "ssh", "gpu[01-16]", "--dry-run", "--user", "ops", "--ssh-option=-p2222")
    line = ran.out.splitlines()[-1].strip()
    words = shlex.split(line)
    assert words[:2] == ["ssh", "-p2222"]
    assert words[words.index("-l") : words.index("-l") + 2] == ["-l", "ops"]
    assert words[-2:] == ["gpu01", "gpudoctor fleet node --timeout 180"]


def test_ray_shows_the_command_of_its_task() -> None:
    engine = Ray(python="/usr/bin/python3")
    engine._nodes = [RayNode(id="ab12", name="n1", address="10.0.0.1", alive=True)]
    first, second = engine.shown(FleetTarget(node="n1"), JOB).splitlines()
    assert first.startswith("# Ray task on node ab12: num_cpus=0, num_gpus=0, max_retries=0, started by /usr/bin/py")
    assert second == COMMAND
