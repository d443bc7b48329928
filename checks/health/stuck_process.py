"""A process that cannot be killed uses a GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import GpuProcess
from gpudoctor.maybe import known, known_or, phrase, present
from gpudoctor.targets import OnGpu, gpu_name, nvidia_gpus
from gpudoctor.tasks import as_root, query

_WORDS = {"D": "is in uninterruptible sleep in the kernel (state D)", "Z": "is a zombie (state Z)"}


def _stuck(on: OnGpu) -> tuple[GpuProcess, ...]:
    found = on.gpu.processes if isinstance(on.gpu.processes, tuple) else ()
    # A process that reads a disk is briefly in state D as well: while the GPU computes, nothing is stuck.
    if known_or(on.gpu.utilization, None):
        return tuple(p for p in found if p.state == "Z")
    return tuple(p for p in found if p.state in _WORDS)


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    pids = ",".join(str(p.pid) for p in _stuck(on)[:4])
    look = Fix(
        "Check whether it is still in that state, and its parent process; a zombie ends with its parent, a process "
        "that sleeps in the kernel cannot be killed.",
        (query("ps", "-o", "pid,ppid,stat,wchan:32,cmd", "-p", pids),),
        impact="none",
    )
    message = "If it stays: reboot (or, with no process left on the GPU, reset the GPU)."
    return (look, Fix(message, (as_root("reboot"),), "reboot", root=True, needs="reboot"))


@check(
    title="Stuck process on a GPU (state D or zombie)",
    severity=Severity.WARNING,
    cause="A process waits inside the driver and never returns, or has exited without being reaped by its parent; its "
    "GPU memory stays allocated.",
    fixes=_fixes,
    references=("https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html",),
    targets=nvidia_gpus,
    caused_by=(
        "device.fallen-off-the-bus",
        "device.gsp-failed",
        "device.xid-hardware",
        "device.needs-reset",
        "host.gpu-driver-oops",
    ),
    affects=("everything",),
    validated_on=("table 2026-11",),
    bearable=False,
)
def stuck_process(on: OnGpu) -> Problem | None:
    """A process of the GPU in state D or Z."""
    known(on.gpu.processes)
    stuck = _stuck(on)
    if not stuck:
        return None
    first = stuck[0]
    who = f"Process {first.pid}" + phrase(" ({})", first.name)
    message = f"{who} on {gpu_name(on.gpu)} {_WORDS[present(first.state)]} and keeps its memory."
    # State D seen once proves little: programs that load a model from a slow disk are in it for seconds.
    sure = any(p.state == "Z" for p in stuck) or on.gpu.status != "ok" or on.facts.nvidia.cuda.hung is not None
    lines = tuple(f"pid {p.pid}{phrase(' {}', p.name)}: {present(p.state)}" for p in stuck)
    return Problem(message, lines, severity=None if sure else Severity.ADVICE)
