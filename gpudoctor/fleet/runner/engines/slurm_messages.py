"""What srun says when it ends, and what that means for the node."""

from collections.abc import Sequence

from gpudoctor.fleet.runner.engines.launcher_messages import NO_PACKAGE, first, last, not_started
from gpudoctor.lazy_regex import pattern

# Messages of srun, slurmstepd and libslurm 22.05, by what became of the node; the first that is met counts. What ended
# a job, begun or not:
_ENDED = (
    ("unreachable", pattern(r"Node failure on |DUE TO NODE FAILURE|Timed out waiting for job step to complete")),
    ("timed out", pattern(r"DUE TO TIME LIMIT")),
    ("failed", pattern(r"DUE TO PREEMPTION")),
)
# What kept one from starting:
_NOT_BEGUN = (
    ("not asked", pattern(r"Requested nodes are busy")),
    ("not asked", pattern(r"Unable to contact slurm controller|Socket timed out on send|Zero Bytes were transmitted")),
    ("not asked", pattern(r"unrecognized option|invalid option|requires an argument|^srun: fatal: |Invalid numeric")),
    ("unreachable", pattern(r"Communication connection failure|Task launch for .* failed|Application launch failed")),
    ("unreachable", pattern(r"Unable to (?:create step|confirm allocation) for job|Job prolog failed")),
    ("refused", pattern(r"Unable to allocate resources: |ermission denied|not permitted|Protocol authentication")),
)
# What the command itself writes there is no word of Slurm's.
_SLURMS = pattern(r"^(?:srun|slurmstepd[^:]*|slurmd[^:]*): ")
_WAITS = pattern(r"^srun: (?:Required node not available|Partition in DOWN state)")
_TASK = pattern(r"^srun: error: .*: task 0: (.+)$")
_EXITED = pattern(r"Exited with exit code ([0-9]+)$")
_NO_PROGRAM = pattern(r"execve\(\): (.*)$")
# Of srun, and next to the matter.
_BESIDE = pattern(
    r"^srun: (?:job [0-9]+ (?:queued|has been)|Job allocation [0-9]+ has been revoked|Force Terminated|forcing job"
    r"|got SIG|Job step aborted)|^Try \"srun|^\s*$"
)
_LABEL = pattern(r"^(?:srun|slurmstepd[^:]*): (?:error: |fatal: )?")


def verdict(code: int | None, words: Sequence[str], began: bool) -> tuple[str, str]:
    """How a node ended whose srun ended by itself, if it sends no report: one of the ledger's states, and one sentence.

    Args:
        code: what srun ended with, which says little: it is 0 where the node died in mid-run. None: by a signal.
        words: the lines of srun's standard error, which is the command's too.
        began: whether the command said hello.
    """
    slurms = [line for line in words if _SLURMS.match(line)]
    for state, known in _ENDED if began else (*_ENDED, *_NOT_BEGUN):
        if found := first(known, slurms):
            return state, _sentence(found)
    return _of_task(words) or _of_srun(code, words, began)


def waits(words: Sequence[str]) -> str:
    """What srun says of a job that has not begun, in brackets; empty: nothing."""
    return _quoted(first(_WAITS, words))


def _of_task(words: Sequence[str]) -> tuple[str, str] | None:
    task = next((found for found in (_TASK.search(line) for line in words) if found), None)
    if task is None:
        return None
    said = last(_BESIDE, [line for line in words if not line.startswith("srun: ")])
    if missing := first(_NO_PROGRAM, words) or first(NO_PACKAGE, words):
        missing = missing.partition("execve(): ")[2] or missing
        return not_started(_quoted(missing))
    if exited := _EXITED.search(task[1]):
        return "failed", f"The command failed there with exit code {exited[1]}{_quoted(said)}."
    return "failed", f"The command was terminated there: {task[1].strip().rstrip('.')}{_quoted(said)}."


def _of_srun(code: int | None, words: Sequence[str], began: bool) -> tuple[str, str]:
    said = _quoted(last(_BESIDE, words))
    if code == 0:
        return "failed", f"srun succeeded, but no report arrived{said}."
    how = "by a signal" if code is None else f"with {code}"
    return ("failed" if began else "not asked"), f"srun ended {how}{said or ' without output'}."


def _bare(line: str) -> str:
    """The line without who says it, and without the asterisks that slurmstepd draws around it."""
    return _LABEL.sub("", line).strip("* ").rstrip(".")


def _quoted(line: str) -> str:
    return f" ({_bare(line)})" if line else ""


def _sentence(line: str) -> str:
    return f"Slurm reports: {_bare(line)}."
