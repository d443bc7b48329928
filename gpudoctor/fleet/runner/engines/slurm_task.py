"""One node, asked by one srun: from the job's start until nothing of it is left."""

import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gpudoctor import child
from gpudoctor.fleet.runner import protocol
from gpudoctor.fleet.runner.engine import FleetTarget, NodeJob, NodeLine, Over, Tell
from gpudoctor.fleet.runner.engines import slurm_commands, slurm_messages
from gpudoctor.fleet.runner.engines.slurm_nodes import responds

# Seconds.
GRACE = 10.0  # past the limit of a node, for it to say so itself
_LEAVE = 5.0  # that srun gets to end its step, before it is killed
_GONE, _GONE_AT_ONCE = 20.0, 5.0  # for a job to leave the queue; when somebody waits for the end of the run
_LOOK = 0.5  # between two looks at the queue
# Of a job: as squeue writes it, and where squeue does not respond.
_PENDING, _UNKNOWN = "PENDING", "unknown"
# Why a job waits for others, squeue(1); whatever else it waits for, as "PartitionTimeLimit", stands in the sentence.
_BUSY = ("Resources", "Priority")
_NOT_ASKED = ("not asked", "The run was stopped first.")


class Way(NamedTuple):
    """How jobs are started.

    Attributes:
        options: more options of srun.
        patience: seconds that a job may wait for its node.
        partition: where; empty: where Slurm starts it by itself.
    """

    options: Sequence[str] = ()
    patience: float = 60.0
    partition: str = ""


def command(target: FleetTarget, job: NodeJob, way: Way, name: str) -> list[str]:
    """The srun that asks a node.

    The environment goes along (it is cleaned of this machine's), as it does with the jobs of users. Slurm's own limit,
    in whole minutes, only ends what nobody else ended.
    """
    minutes = math.ceil((job.seconds + GRACE) / 60) + 1
    argv = ["srun", "--nodes=1", "--ntasks=1", f"--nodelist={target.node}", f"--job-name={name}", f"--time={minutes}"]
    argv += ["--export=ALL", "--input=none", "--mpi=none", "--chdir=/"]
    argv += [f"--partition={way.partition}"] if way.partition else []
    argv += [f"--gres=gpu:{target.gpus}"] if job.gpus and target.gpus else []
    return [*argv, *way.options, "--", *job.argv]  # the last of two options counts, so that the user's win


class SlurmTask:
    """A node that is being asked; all of it happens in one thread.

    Args:
        target: the node.
        job: what runs there.
        way: how.
        name: of the job in Slurm, which no other has.
        tell: takes its lines.
        ended: whether the run is to end.
    """

    def __init__(
        self, target: FleetTarget, job: NodeJob, way: Way, name: str, tell: Tell, ended: Callable[[], bool]
    ) -> None:
        self._target, self._job, self._way, self._name = target, job, way, name
        self._tell, self._ended = tell, ended
        self._lines = protocol.Assembler()
        self._begun_at: float | None = None  # when it said hello
        self._end = time.monotonic() + way.patience  # when it has to have said it
        self._waits: slurm_commands.Queued | None = None

    def over(self) -> Over:
        """Ask, and say how the node ended; nothing of the job is left then, as far as Slurm can end it."""
        most = 2 * self._way.patience + 2 * (self._job.seconds + GRACE)
        argv = command(self._target, self._job, self._way, self._name)
        env, left = slurm_commands.environment(), True
        try:
            ended = child.run(argv, timeout=most, env=env, grace=_LEAVE, on_line=self._line, late=self._late)
            # An srun that ended by itself has given its allocation back; one that was killed may have not.
            left = ended.code is None or ended.timed_out or ended.cancelled
        finally:
            gone = self._cleared() if left else True
        return Over(self._target.node, *self._verdict(ended, gone))

    def _line(self, text: str) -> None:
        if self._begun_at is None and isinstance(self._lines.feed(text, self._target.node), protocol.Hello):
            self._begun_at = time.monotonic()
            self._end = self._begun_at + self._job.seconds + GRACE
        self._tell(NodeLine(self._target.node, text))

    def _late(self) -> bool:
        """Whether srun is to be ended now."""
        if self._ended():
            return True
        if time.monotonic() < self._end:
            return False
        if self._begun_at is not None or self._waits is not None:
            return True
        jobs = slurm_commands.queued(self._name)
        self._waits = slurm_commands.Queued("", _UNKNOWN if jobs is None else "", "") if not jobs else jobs[0]
        if self._waits.state in ("", _UNKNOWN, _PENDING):
            return True
        self._end = time.monotonic() + self._job.seconds + GRACE  # it has its node: a prolog runs, or it is slow
        return False

    def _cleared(self) -> bool:
        """End what is left of the job; whether Slurm has let go of it."""
        end = time.monotonic() + (_GONE_AT_ONCE if self._ended() else _GONE)
        while (jobs := slurm_commands.queued(self._name)) or jobs is None:
            if jobs and any(one.state != "COMPLETING" for one in jobs):
                slurm_commands.cancel([one.job for one in jobs])
            if time.monotonic() > end:
                return False
            time.sleep(_LOOK)
        return True

    def _verdict(self, ended: child.ChildResult, gone: bool) -> tuple[str, str]:
        began, words = self._begun_at is not None, ended.err.splitlines()
        if ended.missing:
            return "not asked", f"srun cannot be started: {ended.missing}."
        if not (ended.timed_out or ended.cancelled):
            return slurm_messages.verdict(ended.code, words, began)
        if self._ended() or ended.cancelled:
            return ("failed", "The run was stopped before its report arrived.") if began else _NOT_ASKED
        return self._out_of_time(words, gone)

    def _out_of_time(self, words: Sequence[str], gone: bool) -> tuple[str, str]:
        """It was given up; `gone`: Slurm has ended the job."""
        seconds = self._job.seconds
        if self._begun_at is None and (self._waits is None or self._waits.state in ("", _PENDING)):
            return "not asked", self._busy(words)
        state = slurm_commands.state(self._target.node)
        if state and not responds(state):
            did = "It started and then sent nothing" if self._begun_at is not None else "It sent nothing"
            return "unreachable", f"{did}, and Slurm has lost contact with it ({state})."
        if self._begun_at is None:
            how = "gives no reason" if self._waits and self._waits.state == _UNKNOWN else "has started its job there"
            return "unreachable", f"It sent nothing, and Slurm {how}."
        kept = "" if gone else " Slurm could not cancel its job yet."
        return "timed out", f"It did not finish within its limit of {seconds:g} s and was canceled.{kept}"

    def _busy(self, words: Sequence[str]) -> str:
        reason = self._waits.reason if self._waits else ""
        reported = f" ({reason})" if reason not in ("", "None") else slurm_messages.waits(words)
        begins = "The node was busy: its" if reason in _BUSY else "Its"
        return f"{begins} job did not start within {self._way.patience:g} s{reported}."
