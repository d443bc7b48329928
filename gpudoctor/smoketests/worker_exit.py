"""Says how a worker ended that did not end well: hung, killed, crashed."""

from __future__ import annotations

from typing import NamedTuple

from gpudoctor.child import ChildResult
from gpudoctor.facts.smoke import Error, Outcome
from gpudoctor.machine import OUT_OF_TIME, Machine
from gpudoctor.probes.frameworks.refusals import plain


class Death(NamedTuple):
    """How it ended: its outcome, the sentence, and the kind of error where one is known."""

    outcome: Outcome
    message: str
    error: Error | None = None


STOPPED = "the run was stopped"
OVER = "The time for the whole run (--timeout) was over"
NOT_BEGUN = f"{OVER} before it started."
# What the kernel does about each, in a few words (signal(7)); SIGILL: code for another CPU.
SIGNALS = {
    "SIGSEGV": "it accessed invalid memory",
    "SIGBUS": "mapped memory became unavailable; a full /dev/shm can cause this",
    "SIGILL": "it uses instructions that this CPU does not have",
    "SIGFPE": "an arithmetic error in compiled code",
    "SIGABRT": "it aborted",
}


def killed_for_memory(machine: Machine) -> int | None:
    """How many processes the kernel has killed because memory was full, as /proc/vmstat counts them; None: unknown.

    The counter is the whole machine's, and exists since Linux 4.13
    (https://github.com/torvalds/linux/commit/8e675f7af50747e1e9e96538e8706767e4f80e2c).
    """
    text = machine.line("/proc/vmstat") or ""
    found = [line.split()[1] for line in text.splitlines() if line.startswith("oom_kill ")]
    return int(found[0]) if found and found[0].isdecimal() else None


def death(
    ended: ChildResult,
    stage: str,
    killed_before: int | None,
    killed_after: int | None,
    halted: bool = False,
    over: bool = False,
) -> Death | None:
    """How a worker ended; None where it ended by itself, in order.

    Args:
        ended: what is known of its end.
        stage: the last that it began.
        killed_before: what `killed_for_memory` said before it started.
        killed_after: what it says now.
        halted: whether somebody ended the run, so that a worker that was ended was not late.
        over: whether the time for the whole run is used up, which is as little a hang.
    """
    if ended.missing == OUT_OF_TIME:
        return Death("stopped", NOT_BEGUN)
    if ended.missing:
        return Death("failed", f"{ended.argv[0]} was not started: {ended.missing}", "other")
    deep = " It hangs in the kernel and cannot be killed: only a GPU reset or a reboot ends it."
    if ended.cancelled or (halted and ended.timed_out):
        return Death("stopped", f"{STOPPED}{('.' + deep) * ended.abandoned}")
    if ended.timed_out and over:
        return Death("stopped", f"{OVER} in stage {stage}.{deep * ended.abandoned}")
    if ended.timed_out:
        return Death("hung", f"It stopped responding in stage {stage}.{deep * ended.abandoned}")
    if ended.signal == "SIGKILL" and None not in (killed_before, killed_after) and killed_after != killed_before:
        return Death(
            "died", f"The kernel killed it in stage {stage} because host memory was full (OOM).", "out-of-memory"
        )
    if ended.signal:
        why = f": {SIGNALS[ended.signal]}" if ended.signal in SIGNALS else ", sent from outside"
        return Death("died", f"It was killed by {ended.signal} in stage {stage}{why}.", "other")
    if ended.code:
        return Death("failed", f"It ended in stage {stage} with exit code {ended.code}: {_last(ended.err)}", "other")
    return None


def _last(err: str) -> str:
    lines = [line for line in plain(err).splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"
