"""PyTorch whose process dies of a signal."""

from functools import partial

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.remedies.python import reinstall_torch
from gpudoctor.subjects import OnLive, lives
from gpudoctor.views.frameworks import crash
from gpudoctor.views.reasons import SYSTEM

_CAUSES = {
    "SIGILL": "The processor, or the virtual machine that stands for it, lacks an instruction that this build uses.",
    "SIGKILL": "The process was killed from outside, mostly because memory ran out.",
    "SIGABRT": "A library ended the process itself; its last words say why.",
}


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    if on.live.died == "SIGKILL":
        return (
            Fix(
                "Give the machine or the container more memory, or end what takes it: dmesg names the killer.",
            ),
        )
    return reinstall_torch(on.facts, on.python, on.framework)


@check(
    title="PyTorch crashes",
    severity=Severity.ERROR,
    cause="A library of another version, or a damaged one, is loaded into the process.",
    fixes=_fixes,
    references=("https://docs.python.org/3/library/faulthandler.html",),
    each=partial(lives, name="torch"),
    because=(*SYSTEM, "python.*", "python.numpy-2", "libraries.*", "packages.*", "host.*"),
    affects=("wheels",),
    seen=("table 2026-11",),
)
def import_crashes(on: OnLive) -> Problem | None:
    """The child died of a signal."""
    says = crash(on.name, on.live)
    if says is None:
        return None
    tail = tuple(line for line in on.live.stderr.splitlines() if line.strip())[-6:]
    return Problem(says, evidence=tail, cause=_CAUSES.get(on.live.died or ""))
