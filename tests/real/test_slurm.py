"""The health check and the prolog of examples/slurm, run by a real Slurm: with munge, controller and node here."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples import EXAMPLES, ILL, WELL, asked, become, stand_in
from tests.real import slurm_cluster
from tests.real.slurm_cluster import HOST as NODE

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(why := slurm_cluster.why_not()), reason=why),
]


class Cluster(slurm_cluster.Cluster):
    """A cluster of one node, whose GPUs are those of a recorded machine."""

    def write(self) -> None:
        """Write the example's files with the folders of the test in place of the system's."""
        ours = {"/opt/gpudoctor/bin": "", "/run/gpudoctor": "/run", "/etc/slurm/gpudoctor": ""}
        for file in (EXAMPLES / "slurm").iterdir():
            text = file.read_text()
            for theirs, here in ours.items():
                text = text.replace(theirs, f"{self.folder}{here}")
            text = text.replace("\nset -u\n", f"\nset -u\nexport SLURM_CONF={self.folder}/slurm.conf\n")
            (self.folder / file.name).write_text(text)
            (self.folder / file.name).chmod(0o755)
        stand_in(self.folder, WELL)
        part = (self.folder / "slurm.conf.part").read_text().replace("Interval=300", "Interval=2")
        self.configure(slurm_cluster.node(NODE), part)

    def cannot_tell(self) -> None:
        """From now on gpudoctor cannot find anything out."""
        (self.folder / "facts.json").write_text("{}")

    def quiet(self) -> None:
        """End the health checks, so that only prologs ask."""
        conf = self.folder / "slurm.conf"
        conf.write_text(conf.read_text().replace("HealthCheckInterval=2", "HealthCheckInterval=0"))
        assert self.run("scontrol", "reconfigure").returncode == 0
        time.sleep(3)  # for the one that may be under way


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    made.write()
    try:
        made.start([NODE])
        yield made
    finally:
        made.stop()


def test_a_well_node_runs_jobs_and_an_ill_one_is_drained_with_the_reason(cluster: Cluster) -> None:
    cluster.until(lambda: (cluster.folder / "run" / "well").exists(), "the health check")
    ran = cluster.run("srun", "-N1", "echo", "hello")
    assert ran.stdout == "hello\n", ran.stderr

    become(cluster.folder, ILL)
    cluster.until(lambda: "DRAIN" in cluster.node("State"), "the drain")
    assert cluster.node("Reason").startswith("gpudoctor: driver.library-mismatch: ")
    assert cluster.run("sinfo", "-R", "--noheader").stdout.startswith("gpudoctor: driver.li root ")
    assert not (cluster.folder / "run" / "well").exists()

    become(cluster.folder, WELL)
    before = asked(cluster.folder)
    cluster.until(lambda: asked(cluster.folder) > before + 1, "the next health check")
    assert "DRAIN" in cluster.node("State"), "only an operator brings a node back"
    assert cluster.run("scontrol", "update", f"nodename={NODE}", "state=resume").returncode == 0
    cluster.until(lambda: cluster.node("State") == "IDLE", "the node's return")


def test_an_operators_reason_stays(cluster: Cluster) -> None:
    cluster.until(lambda: (cluster.folder / "run" / "well").exists(), "the health check")
    ours = ("scontrol", "update", f"nodename={NODE}", "state=drain", "reason=a new fan")
    assert cluster.run(*ours).returncode == 0
    become(cluster.folder, ILL)
    before = asked(cluster.folder)
    cluster.until(lambda: asked(cluster.folder) > before + 2, "the next health checks")
    assert cluster.node("Reason").startswith("a new fan ")


def test_a_job_starts_on_what_the_health_check_found_and_none_on_an_ill_node(cluster: Cluster) -> None:
    cluster.until(lambda: (cluster.folder / "run" / "well").exists(), "the health check")
    cluster.quiet()
    before = asked(cluster.folder)
    assert cluster.run("srun", "-N1", "echo", "hello").stdout == "hello\n"
    assert asked(cluster.folder) == before, "the prolog took what was kept"

    become(cluster.folder, ILL)
    (cluster.folder / "run" / "well").unlink()
    assert cluster.run("sbatch", "--wrap", "echo hello >ran").returncode == 0
    cluster.until(lambda: "DRAIN" in cluster.node("State"), "the drain by the prolog")
    assert not (cluster.folder / "ran").exists()
    assert "JobState=PENDING" in cluster.run("scontrol", "show", "jobs").stdout


def test_what_is_unknown_takes_no_node_away_and_stands_in_the_log(cluster: Cluster) -> None:
    cluster.until(lambda: (cluster.folder / "run" / "well").exists(), "the health check")
    cluster.cannot_tell()
    said = "gpudoctor printed nothing and exited with 2"
    cluster.until(lambda: said in (cluster.folder / f"slurmd.{NODE}.log").read_text(), "the line in the log")
    assert cluster.node("State") == "IDLE"
    assert cluster.run("srun", "-N1", "echo", "hello").stdout == "hello\n"
