"""The health check and the prolog of examples/slurm, run by a real Slurm: with munge, controller and node here."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.examples import EXAMPLES, ILL, WELL, asked, become, stand_in

PROGRAMS = ("munged", "slurmctld", "slurmd", "scontrol", "srun")
NODE = socket.gethostname().partition(".")[0]
SECONDS = 60  # for what Slurm does of its own accord
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="slurmd runs as root"),
    pytest.mark.skipif(not all(map(shutil.which, PROGRAMS)), reason="needs Slurm: apt-get install slurm-wlm"),
]
CONF = """\
ClusterName=test
SlurmctldHost={node}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
NodeName={node} NodeAddr=127.0.0.1 CPUs=1
PartitionName=all Nodes=ALL Default=YES
"""


class Cluster:
    """A cluster of one node, whose GPUs are those of a recorded machine.

    Args:
        folder: for all of its files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self._running: list[subprocess.Popen[bytes]] = []

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
        conf = CONF.format(node=NODE, folder=self.folder, ports=(_port(), _port()))
        part = (self.folder / "slurm.conf.part").read_text().replace("Interval=300", "Interval=2")
        (self.folder / "slurm.conf").write_text(conf + part)

    def start(self) -> None:
        """Start munge, the controller and the node, and wait for the node."""
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        names = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munge.pid", "log-file": "munge.log"}
        options = [f"--{option}={self.folder / name}" for option, name in {**names, "seed-file": "seed"}.items()]
        self._begin("munged", "--foreground", "--force", *options)
        self.until(lambda: (self.folder / "munge.socket").exists(), "munge")
        self._begin("slurmctld", "-D")
        self._begin("slurmd", "-D", "-N", NODE)
        self.until(lambda: self.node("State") not in ("", "UNKNOWN", "DOWN*", "UNKNOWN*", "DOWN"), "the node")

    def _begin(self, *argv: str) -> None:
        log = (self.folder / f"{argv[0]}.out").open("wb")
        self._running.append(subprocess.Popen(argv, env=self.env, stdout=log, stderr=log, cwd=self.folder))

    def run(self, *argv: str, seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
        """Run one of Slurm's commands."""
        return subprocess.run(argv, env=self.env, capture_output=True, text=True, timeout=seconds, cwd=self.folder)

    def node(self, field: str) -> str:
        """A field of what Slurm says about the node."""
        words = self.run("scontrol", "show", "node", NODE).stdout
        found = [line.partition(f"{field}=")[2] for line in words.splitlines() if line.strip().startswith(f"{field}=")]
        return found[0] if field == "Reason" and found else found[0].split()[0] if found else ""

    def cannot_tell(self) -> None:
        """From now on gpudoctor cannot find anything out."""
        (self.folder / "facts.json").write_text("{}")

    def quiet(self) -> None:
        """End the health checks, so that only prologs ask."""
        conf = self.folder / "slurm.conf"
        conf.write_text(conf.read_text().replace("HealthCheckInterval=2", "HealthCheckInterval=0"))
        assert self.run("scontrol", "reconfigure").returncode == 0
        time.sleep(3)  # for the one that may be under way

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait for something that Slurm does.

        Raises:
            AssertionError: it does not come.
        """
        end = time.monotonic() + SECONDS
        while not holds():
            logs = {one.name: one.read_text(errors="replace")[-1500:] for one in self.folder.glob("slurm*.log")}
            assert time.monotonic() < end, f"{what} does not come: {self.run('scontrol', 'show', 'node').stdout} {logs}"
            time.sleep(0.2)

    def stop(self) -> None:
        """End all of it, the last first."""
        for process in reversed(self._running):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    made.write()
    try:
        made.start()
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
    said = "gpudoctor said nothing and ended with 2"
    cluster.until(lambda: said in (cluster.folder / "slurmd.log").read_text(), "the line in the log")
    assert cluster.node("State") == "IDLE"
    assert cluster.run("srun", "-N1", "echo", "hello").stdout == "hello\n"
