"""A real Slurm on this machine: munge, a controller, and a slurmd for each node, all in one folder."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "scontrol", "srun")
HOST = socket.gethostname().partition(".")[0]
SECONDS = 60  # for what Slurm does of its own accord
CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
{more}
PartitionName=all Nodes=ALL Default=YES
"""
_STARTING = ("", "UNKNOWN", "DOWN", "DOWN*", "UNKNOWN*", "IDLE*")


def why_not() -> str:
    """Why no Slurm can be started here; empty: it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "slurmd runs as root"
    return "" if all(map(shutil.which, PROGRAMS)) else "needs Slurm: apt-get install slurm-wlm munge"


def port() -> int:
    """A port that is free now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def node(name: str, more: str = "CPUs=1") -> str:
    """The line of a node of this host in slurm.conf."""
    return f"NodeName={name} NodeHostname={HOST} NodeAddr=127.0.0.1 Port={port()} {more}"


class Cluster:
    """The daemons of a cluster, and Slurm's commands.

    Args:
        folder: for all of its files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self.slurmds: dict[str, subprocess.Popen[bytes]] = {}
        self._running: list[subprocess.Popen[bytes]] = []

    def configure(self, *more: str) -> None:
        """Write slurm.conf, with these lines besides."""
        conf = CONF.format(host=HOST, folder=self.folder, port=port(), more="\n".join(more))
        (self.folder / "slurm.conf").write_text(conf)

    def start(self, nodes: Sequence[str]) -> None:
        """Start munge, the controller and these nodes, and wait for them."""
        for name in ("state", *(f"spool.{one}" for one in nodes)):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        names = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munge.pid", "log-file": "munge.log"}
        options = [f"--{option}={self.folder / name}" for option, name in {**names, "seed-file": "seed"}.items()]
        self._begin("munged", "--foreground", "--force", *options)
        self.until(lambda: (self.folder / "munge.socket").exists(), "munge")
        self._begin("slurmctld", "-D")
        self.bring_up(nodes)

    def bring_up(self, nodes: Sequence[str]) -> None:
        """Start the slurmd of these nodes, and wait until the controller knows them."""
        for name in nodes:
            self.slurmds[name] = self._begin("slurmd", "-D", "-N", name)
        for name in nodes:
            self.until(lambda name=name: self.node("State", name) not in _STARTING, name)  # type: ignore[misc]

    def _begin(self, *argv: str) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{argv[0]}.out").open("ab") as log:
            self._running.append(subprocess.Popen(argv, env=self.env, stdout=log, stderr=log, cwd=self.folder))
        return self._running[-1]

    def run(self, *argv: str, seconds: float = SECONDS) -> "subprocess.CompletedProcess[str]":
        """Run one of Slurm's commands."""
        return subprocess.run(argv, env=self.env, capture_output=True, text=True, timeout=seconds, cwd=self.folder)

    def node(self, field: str, name: str = HOST) -> str:
        """A field of what Slurm says about a node."""
        words = self.run("scontrol", "show", "node", name).stdout
        found = [line.partition(f"{field}=")[2] for line in words.splitlines() if line.strip().startswith(f"{field}=")]
        return found[0] if field == "Reason" and found else found[0].split()[0] if found else ""

    def queue(self) -> list[str]:
        """The jobs that are not over: name and state."""
        return self.run("squeue", "--noheader", "--all", "--format=%j %T").stdout.splitlines()

    def kill_node(self, name: str) -> None:
        """Kill a node's slurmd and what watches over its steps, as a machine without power would be gone."""
        steps = self.steps(name)  # to look for them afterwards would leave them time to report that their node is gone
        self.slurmds[name].kill()
        for step in steps:
            os.kill(step, signal.SIGKILL)
        self.slurmds[name].wait(10)

    def steps(self, name: str) -> list[int]:
        """The processes that watch over the steps of a node's jobs."""
        log = f"{self.folder}/slurmd.{name}.log"  # which they hold open
        return [int(one.name) for one in Path("/proc").glob("[0-9]*") if _is_step(one) and log in _open_files(one)]

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
        for step in [one for name in self.slurmds for one in self.steps(name)]:
            os.kill(step, signal.SIGKILL)


def _is_step(process: Path) -> bool:
    try:
        return (process / "cmdline").read_bytes().startswith(b"slurmstepd: [")
    except OSError:  # it has ended
        return False


def _open_files(process: Path) -> set[str]:
    try:
        return {os.readlink(one) for one in (process / "fd").iterdir()}
    except OSError:  # it has ended, or closed one
        return set()
