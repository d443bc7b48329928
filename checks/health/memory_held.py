"""Nearly all of a GPU's memory is in use: by another process, or by one that has ended badly."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import GpuProcess
from gpudoctor.fixes.holders import stop_holders
from gpudoctor.fixes.reset import reset
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.gpus import BUSY
from gpudoctor.targets import OnGpu, gpu_name, gpus_of, nvidia_gpus
from gpudoctor.tasks import as_root, export, query

# With less than that free hardly a model fits, and frameworks fail to create their context.
_FREE = 0.1
# A GPU with that much free can be used instead.
_ROOM = 0.5

# Why memory stays in use that no listed process uses.
_ENDED = (
    "The driver frees a program's memory when the last process that has its device files open ends. A child of a "
    "program that was killed, such as a worker of a data loader, keeps them open without computing, so it is not "
    "listed. Where nobody has them open, only a reset of the GPU frees the memory."
)


def _fixes(on: OnGpu) -> tuple[Fix, ...]:
    if _is_nobodys(on):
        return _freed(on)
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


def _freed(on: OnGpu) -> tuple[Fix, ...]:
    """End the processes that are left; where none is, the reset frees the memory."""
    index = on.gpu.index
    look = query("nvidia-smi", "-i", index, "--query-gpu=memory.used,memory.total", "--format=csv")
    message = (
        "End what a program has left behind: fuser shows who has the GPU open and is not listed by NVML. If the memory "
        "is in use without anybody, reset the GPU."
    )
    again = Fix(message, reset(on.facts, index), "reset-gpu", root=True, verify=look)
    message = "If the reset is refused, as for a GPU that drives a display: reboot."
    return (again, Fix(message, (as_root("reboot"),), "reboot", root=True, needs="reboot", verify=look))


def _is_nobodys(on: OnGpu) -> bool:
    """Whether everybody would be visible, and nobody uses the GPU: root, outside of containers, without guests.

    Windows has the memory of WSL's GPU; a hypervisor's guests have that of a GPU that is shared out to them.
    """
    host = on.facts.host
    sees_all = host.container is None and host.wsl is None and host.user.uid == 0
    whole = on.gpu.mig is not True and on.gpu.virtualization in ("none", "passthrough")
    return sees_all and whole and on.gpu.processes == () and not known_or(on.gpu.utilization, None)


def _part_free(total: object, used: object) -> float:
    return 1 - used / total if isinstance(total, int) and isinstance(used, int) and total else 0.0


def _holders(on: OnGpu) -> tuple[GpuProcess, ...]:
    found = on.gpu.processes if isinstance(on.gpu.processes, tuple) else ()
    return tuple(sorted(found, key=lambda p: -(known_or(p.memory, None) or 0)))


@check(
    title="GPU memory is nearly full",
    severity=Severity.WARNING,
    cause="Memory that is in use is not available to your programs: frameworks fail with out of memory, or cannot "
    "even start on the GPU. Usually a forgotten notebook or server has it.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html",
        "https://docs.pytorch.org/docs/stable/notes/faq.html",
    ),
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
    amount = f"{used >> 20} of {total >> 20} MiB of {gpu_name(on.gpu)} are in use"
    if _is_nobodys(on):
        return Problem(f"{amount}, and no process is listed that uses this GPU.", cause=_ENDED)
    holders = _holders(on)
    who = (
        "; ".join(map(_words, holders[:3]))
        or "NVML shows no process here that uses it (one of another container or user, or one that has ended badly)"
    )
    message = f"{amount}: {who}."
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
