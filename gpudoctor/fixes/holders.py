"""Stops the programs that use a GPU, each in its own way."""

from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import GpuProcess
from gpudoctor.maybe import known_or
from gpudoctor.queries.cards import USERS
from gpudoctor.tasks import as_root, cmd, query

# Programs that a service restarts when they are killed, and the service's unit.
_SERVICES = {"ollama": "ollama"}
_MOST = 4


def stop_holders(holders: Sequence[GpuProcess], message: str) -> Fix:
    """List the processes and stop them.

    Args:
        holders: the processes; those without a name are not in this PID namespace, where their number may be
            that of another process.
        message: what to do, in a sentence.
    """
    named = [known_or(p.name, None) or "" for p in holders[:_MOST]]
    pids = [str(p.pid) for p in holders[:_MOST]]
    if not pids:
        return Fix(
            message,
            (query("nvidia-smi"), USERS),
            impact="none",
            verify=query("nvidia-smi"),
        )
    units = dict.fromkeys(u for name in named for word, u in _SERVICES.items() if word in name)
    plain = [pid for pid, name in zip(pids, named, strict=True) if not any(word in name for word in _SERVICES)]
    stop = [as_root("systemctl", "stop", unit) for unit in units]
    kill = [cmd("kill", *plain)] if plain else []
    look = query("ps", "-o", "pid,user,etime,cmd", "-p", ",".join(pids))
    if not all(named):
        return Fix(
            f"{message} The process is not visible here (another container, or it has ended): identify it on the "
            "host, and stop its container there.",
            (look, USERS),
            impact="none",
            verify=query("nvidia-smi"),
            place="outside",
        )
    return Fix(
        message,
        (look, *stop, *kill),
        "restart-process",
        impact="data loss",
        verify=query("nvidia-smi"),
    )
