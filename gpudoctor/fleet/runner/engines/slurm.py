"""Slurm: one srun a node, and sinfo is asked first which nodes can be."""

import os
import shlex
import shutil
from collections.abc import Sequence
from threading import Event, Lock, Thread
from uuid import uuid4

from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, Over, Tell
from gpudoctor.fleet.runner.engines import slurm_commands
from gpudoctor.fleet.runner.engines.node_selection import named, without_gpus
from gpudoctor.fleet.runner.engines.slurm_nodes import by_node, place, target
from gpudoctor.fleet.runner.engines.slurm_task import SlurmTask, Way, command


class Slurm:
    """Runs a command on nodes by srun, each a job of its own, so that no node holds the others up.

    No job is disturbed and none is pushed aside: a job of ours waits in the queue like everybody's, and where its node
    is not free within `patience` it is taken back. It takes one core and all GPUs of the node, since a job is shown
    only GPUs that it was given; where a running job has one of them, the node is busy. CPUs and memory are shared with
    other jobs as the cluster is configured to; figures of smoke tests that nothing may disturb need "--exclusive", and
    a cluster that gives little memory with a core may need "--mem=8G".

    A job runs in the default partition where its node is in that, else in the first of its partitions that is up. One
    started from within another job is a job of its own all the same; "--jobid" and "--overlap" make it a step.

    However a run ends, its jobs are cancelled; where gpudoctor itself is killed by SIGKILL, Slurm ends them at the
    limit that they were given, a minute or two past the node's.

    Args:
        options: more options of srun, as its arguments: ("--account=ops", "--exclusive"). They win over ours.
        partition: only nodes of this one; None: of all that this user sees.
        patience: seconds that a node may be busy, before it is given up.
    """

    name = "slurm"

    def __init__(self, options: Sequence[str] = (), partition: str | None = None, patience: float = 60.0) -> None:
        self._options, self._patience = tuple(options), patience
        self._partition = partition or os.environ.get("SLURM_PARTITION", "")
        self._places: dict[str, str] = {}  # by node, where a job is started

    def targets(self, request: str) -> Sequence[FleetTarget]:
        """The nodes of a node set, or all; what sinfo says decides which can be asked, and which have GPUs.

        Raises:
            EngineError: Slurm does not respond, or does not know one of the nodes or the partition.
        """
        requested = named(request)
        known = by_node(slurm_commands.nodes(self._partition, hidden=bool(requested)))
        if not known and self._partition:
            raise EngineError(f"Slurm has no nodes in a partition {self._partition}.")
        if strange := [name for name in requested if name not in known]:
            where = f" in the partition {self._partition}" if self._partition else ""
            raise EngineError(f"Slurm has no node {_few(strange)}{where}.")
        chosen = {name: known[name] for name in requested or known}
        self._places = {name: self._partition or place(rows).partition.rstrip("*") for name, rows in chosen.items()}
        found = [target(rows, self._reserved()) for rows in chosen.values()]
        return found if requested else without_gpus(found, [bool(one.gpus) for one in found])

    def run(self, targets: Sequence[FleetTarget], job: NodeJob, tell: Tell, stop: Event) -> None:
        """Run the command on every target, `job.fan` at a time.

        Raises:
            EngineError: there is no srun.
            Exception: whatever `tell` raises; then nothing is asked any more.
        """
        if not shutil.which("srun"):
            raise EngineError("srun is not installed: install the Slurm client commands, or run this on a login node.")
        for one in targets:
            if one.why_not:
                tell(Over(one.node, "not asked", one.why_not))
        _Crew([one for one in targets if not one.why_not], self, job, tell, stop).work()

    def shown(self, target: FleetTarget, job: NodeJob) -> str:
        """The srun of a node; RUN stands for the number of the run."""
        return shlex.join(command(target, job, self.way(target.node), "gpudoctor-RUN-0"))

    def way(self, node: str) -> Way:
        """How a job is started on a node."""
        return Way(self._options, self._patience, self._places.get(node, self._partition))

    def _reserved(self) -> bool:
        return "SLURM_RESERVATION" in os.environ or any(one.startswith("--reservation") for one in self._options)


class _Crew:
    """The threads that ask the nodes, each one after the other.

    Args:
        targets: that can be asked.
        engine: that knows how.
        job: what runs on each.
        tell: takes lines and ends; where it raises, nothing is asked any more.
        stop: set by the caller that wants the end.
    """

    def __init__(self, targets: Sequence[FleetTarget], engine: Slurm, job: NodeJob, tell: Tell, stop: Event) -> None:
        self._engine, self._job, self._tell, self._stop = engine, job, tell, stop
        self._left = enumerate(targets)
        self._many = min(max(1, job.fan), len(targets))
        self._lock = Lock()
        self._run = uuid4().hex[:8]
        self._fault: Exception | None = None

    def work(self) -> None:
        """Ask all of them, in daemons, so that a process that has to end is not held by them."""
        threads = [Thread(target=self._ask_on, daemon=True, name=f"srun {number}") for number in range(self._many)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._fault is not None:
            raise self._fault

    def _ask_on(self) -> None:
        try:
            while (one := self._next()) is not None:
                self._tell(self._ask(*one))
        except Exception as error:
            self._fault = self._fault or error

    def _next(self) -> tuple[int, FleetTarget] | None:
        with self._lock:
            return None if self._fault else next(self._left, None)

    def _ask(self, number: int, one: FleetTarget) -> Over:
        if self._ended():
            return Over(one.node, "not asked", "The run was stopped first.")
        name = f"gpudoctor-{self._run}-{number}"
        return SlurmTask(one, self._job, self._engine.way(one.node), name, self._tell, self._ended).over()

    def _ended(self) -> bool:
        return self._stop.is_set() or self._fault is not None


def _few(names: Sequence[str]) -> str:
    """Names for a sentence, folded; not all of them where they are many."""
    from gpudoctor.fleet.aggregate.nodeset_expansion import shortened
    from gpudoctor.fleet.nodesets import fold

    return shortened(fold(names), 200)
