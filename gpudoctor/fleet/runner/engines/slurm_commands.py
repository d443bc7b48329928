"""Slurm's own commands, each under a deadline: who is asked about nodes and jobs, and ends jobs."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpudoctor.child import ChildResult, run
from gpudoctor.fleet.runner.engine import EngineError
from gpudoctor.fleet.runner.engines.slurm_nodes import FORMAT, SinfoRow, rows

# Seconds. A controller that does not respond makes Slurm's commands give up after a few tries of MessageTimeout (10 s).
LONG, SHORT = 90.0, 15.0
# Of the caller's environment: what names a cluster and an account stays. What would make another command of ours (the
# job that we may run in, formats, files for the output) does not, nor what belongs to this machine or session.
_KEPT = frozenset((
    "SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT", "SLURM_ACCOUNT", "SLURM_QOS", "SLURM_RESERVATION",
    "SLURM_WCKEY", "SLURM_PARTITION",
))  # fmt: skip
_SLURMS = ("SLURM_", "SLURMD_", "SRUN_", "SINFO_", "SQUEUE_", "SCANCEL_", "PMI_", "PMIX_", "OMPI_")
_THIS_MACHINES = ("SSH_", "XDG_", "DBUS_", "TMUX")
_ALSO = frozenset((
    "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK",
    "DISPLAY", "XAUTHORITY", "HOSTNAME", "TMPDIR", "TMP", "TEMP", "KRB5CCNAME", "STY", "WINDOWID",
))  # fmt: skip


class Queued(NamedTuple):
    """A job in the queue.

    Attributes:
        job: its number.
        state: "PENDING", "RUNNING", "COMPLETING", ...
        reason: why it waits, in Slurm's words.
    """

    job: str
    state: str
    reason: str


def environment(own: Mapping[str, str] = os.environ) -> dict[str, str]:
    """What Slurm's commands get, and through srun the nodes."""
    gone = (*_SLURMS, *_THIS_MACHINES)
    return {name: value for name, value in own.items() if name in _KEPT or not (name in _ALSO or name.startswith(gone))}


def nodes(partition: str = "", hidden: bool = False) -> list[SinfoRow]:
    """All nodes that sinfo knows.

    Args:
        partition: only of these; empty: of all.
        hidden: of all also those that are hidden, or not for this user.

    Raises:
        EngineError: there is no sinfo, or it does not say.
    """
    lines: list[str] = []  # by line, since the child keeps no more than 4 MiB
    argv = ["sinfo", "--Node", "--noheader", f"--format={FORMAT}"]
    argv += [f"--partition={partition}"] if partition else ["--all"] if hidden else []  # sinfo refuses both together
    ended = run(argv, timeout=LONG, env=environment(), on_line=lines.append)
    if ended.missing:
        raise EngineError(f"sinfo cannot be started ({ended.missing}): is this a node of a Slurm cluster?")
    if not ended.ok:
        raise EngineError(f"Slurm does not list its nodes: {_words(ended)}.")
    return rows(lines)


def state(node: str) -> str:
    """What Slurm says of a node now, as "completing*"; empty: it does not say."""
    argv = ("sinfo", "--Node", "--noheader", "--all", f"--nodes={node}", "--format=%T")
    ended = run(argv, timeout=SHORT, env=environment())
    return ended.out.strip().partition("\n")[0].strip() if ended.ok else ""


def queued(name: str) -> list[Queued] | None:
    """The jobs of this name that are not over; None: Slurm does not say.

    Only this user's are looked at, since a queue may be long; root may have started them for somebody else.
    """
    user = () if os.geteuid() == 0 else (f"--user={os.geteuid()}",)
    argv = ("squeue", "--noheader", "--all", *user, f"--name={name}", "--format=%A|%T|%r")
    ended = run(argv, timeout=SHORT, env=environment())
    cut = [line.split("|", 2) for line in ended.out.splitlines()]
    return [Queued(*(part.strip() for part in parts)) for parts in cut if len(parts) == 3] if ended.ok else None


def cancel(jobs: Sequence[str]) -> None:
    """End jobs at once: their processes are killed, and none is given the time that Slurm would give (KillWait)."""
    for how in (("--signal=KILL",), ()):
        run(("scancel", "--quiet", *how, *jobs), timeout=SHORT, env=environment())


def _words(ended: ChildResult) -> str:
    if ended.timed_out:
        return f"sinfo did not finish within {LONG:.0f} s"
    said = [line for line in ended.err.splitlines() if line.strip()]
    return said[-1].strip().rstrip(".") if said else "sinfo failed without output"
