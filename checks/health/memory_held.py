"""Another process uses nearly all of a GPU's memory."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import GpuProcess
from gpudoctor.fixes.holders import stop_holders
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.gpus import BUSY
from gpudoctor.targets import OnGpu, gpu_name, gpus_of, nvidia_gpus
from gpudoctor.tasks import export

# With less than that free hardly a model fits, and frameworks fail to create their context.
_FREE = 0.1
# A GPU with that much free can be used instead.
_ROOM = 0.5


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    message = (
        "Check which process uses the memory, and stop it if it is yours and forgotten; otherwise wait, or ask its "
        "owner."
    )
    fixes = [stop_holders(_holders(on), message)]
    free = [
        g.index
        for g in gpus_of(on.facts, "nvidia")
        if g.index != on.gpu.index and _part_free(g.memory, g.memory_used) > _ROOM
    ]
    if free:
        message = f"Run on a GPU with free memory ({', '.join(map(str, free[:7]))})."
        fixes.append(Fix(message, (export("CUDA_VISIBLE_DEVICES", free[0]),), "change-environment"))
    return tuple(fixes)


def _part_free(total: object, used: object) -> float:
    return 1 - used / total if isinstance(total, int) and isinstance(used, int) and total else 0.0


def _holders(on: OnGpu) -> tuple[GpuProcess, ...]:
    found = on.gpu.processes if isinstance(on.gpu.processes, tuple) else ()
    return tuple(sorted(found, key=lambda p: -(known_or(p.memory, None) or 0)))


@check(
    title="GPU memory is nearly full: other processes use it",
    severity=Severity.WARNING,
    cause="Memory that other processes use is not available to yours: frameworks fail with out of memory, or cannot "
    "even start on the GPU. Usually it is a forgotten notebook or server.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",),
    targets=nvidia_gpus,
    caused_by=("health.stuck-process", "device.exclusive-mode", "device.fallen-off-the-bus", "device.needs-reset"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
    bearable=False,
)
def memory_held(on: OnGpu) -> Problem | None:
    """Nearly nothing free; advice where another GPU has memory, or where it is known whose work it is."""
    total, used = known(on.gpu.memory), known(on.gpu.memory_used)
    if not total or used is None or 1 - used / total >= _FREE:
        return None
    holders = _holders(on)
    who = (
        "; ".join(map(_words, holders[:3]))
        or "NVML shows no process here that uses it (one of another container or user, or one that has ended badly)"
    )
    message = f"{used >> 20} of {total >> 20} MiB of {gpu_name(on.gpu)} are in use: {who}."
    room = any(_part_free(g.memory, g.memory_used) > _ROOM for g in gpus_of(on.facts, "nvidia"))
    return Problem(message, severity=Severity.ADVICE if room or _at_work(on, holders) or _own(on, holders) else None)


def _at_work(on: OnGpu, holders: tuple[GpuProcess, ...]) -> bool:
    """Whether it computes right now for programs that are visible here: a GPU in use is no fault of the machine."""
    used = known_or(on.gpu.utilization, None)
    visible = all(known_or(p.name, "unknown") is not None for p in holders)
    return used is not None and used >= BUSY and visible


def _own(on: OnGpu, holders: tuple[GpuProcess, ...]) -> bool:
    """Whether all processes are the user's own programs; root's count for nobody."""
    uid = known_or(on.facts.host.user.uid, None)
    return bool(holders) and bool(uid) and all(p.user == uid for p in holders)


def _words(process: GpuProcess) -> str:
    memory = known_or(process.memory, None)
    size = f" {memory >> 20} MiB" if memory else ""
    name = known_or(process.name, None) or "a process that is not visible here"
    return f"{name} (pid {process.pid}){size}"
