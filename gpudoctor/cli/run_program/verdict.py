"""What is odd about a program that ran: rules over figures, each with where its threshold comes from.

"Busy" is what the driver reports as utilization: the share of the time in which at least one kernel ran
(nvmlUtilization_t of nvml.h; gpu_busy_percent of amdgpu). It is an upper bound of what the program itself did there,
because it counts all programs: so a GPU that is hardly busy is hardly used by any program.
"""

from typing import NamedTuple

from gpudoctor.cli.run_program.figures import GpuFigures, ProcessFigures, RunFigures
from gpudoctor.registry import FRAMEWORKS, KnownFramework

# Seconds that a program runs before anything is said: watching begins after five (watch.py), and LOOKS takes as many.
SHORT = 10.0
# Seconds of samples on which a share rests: the samplers take one a second, and of n of them a share has a standard
# error of at most 0.5 / sqrt(n), nine points of a hundred here.
ENOUGH = 30.0
# Below it a GPU waits longer than it computes, so that what it waits for is the limit: however fast the GPU, the
# program would be less than twice as fast.
HALF = 0.5
# Below it the program would be as fast, to a tenth, on a GPU ten times slower or with one for ten such programs.
IDLE = 0.1
# Of a core. A DataLoader's worker that keeps up waits for its queue, with prefetch_factor (2) batches made ahead
# (https://pytorch.org/docs/stable/data.html): only one that never gets ahead computes all the time. The rest is for
# reading and for passing batches on.
FULL = 0.8
# Of a core: below it a process of the tree waits and is no worker that computes (a launcher, a resource tracker).
WAITING = 0.1
# One thread computes all the time; a second one that does as well would show as more than this.
ONE_CORE = 1.2
# Of the cores that the program may use.
ALL_CORES = 0.9
# Looks at a framework's process without a device node of a GPU: the import itself takes some.
LOOKS = 5
# Of a core, over the whole run: what computes for want of a GPU takes one or more.
COMPUTES = 0.5
# What PyTorch's DataLoader calls the main thread of its workers (https://github.com/pytorch/pytorch/pull/128448).
LOADER = "pt_data_worker"


class RunVerdict(NamedTuple):
    """What is odd.

    Attributes:
        id: for programs.
        line: for people, without a period.
    """

    id: str
    line: str


def framework_of(figures: RunFigures) -> KnownFramework | None:
    """The GPU framework that the program imported; the first of ours where there are several."""
    names = {name for process in figures.processes for name in process.frameworks}
    return next((one for one in FRAMEWORKS if one.module in names), None)


def verdict(figures: RunFigures) -> RunVerdict | None:
    """What is odd about a run; None: nothing, or nothing that is known."""
    if figures.wall_seconds < SHORT or framework_of(figures) is None:
        return None
    if held_none(figures):
        return RunVerdict("no-gpu-held", "held no GPU")
    used = [gpu for gpu in figures.gpus if gpu.held and gpu.held_seconds >= ENOUGH]
    if not used:
        return None
    top = max(map(_share, used))
    if top >= HALF:
        return _unused(figures, used)
    if limit := _limit(figures):
        return RunVerdict(limit.id, f"{_busy(used)}; {limit.line}")
    return RunVerdict("gpu-idle", _idle(used)) if top < IDLE else None


def held_none(figures: RunFigures) -> bool:
    """Whether it is known that the program computed for a while and held no GPU.

    Either none of its processes had a device node of a GPU open, without which nobody computes there, or the driver
    lists the processes of this PID namespace and named none of them.
    """
    own = [one for one in figures.processes if one.frameworks]
    looks = max((one.looks for one in own), default=0)
    cpu = sum(one.cpu_seconds or 0.0 for one in own)
    if looks < LOOKS or cpu < COMPUTES * figures.wall_seconds or any(gpu.held for gpu in figures.gpus):
        return False
    closed = all(one.nodes is False for one in figures.processes)
    listed = figures.listed and bool(figures.gpus) and all(gpu.held is False for gpu in figures.gpus)
    return closed or listed


def _limit(figures: RunFigures) -> RunVerdict | None:
    """What the GPUs wait for."""
    seen = [one for one in figures.processes if one.held_seconds > 0]
    window = max((one.held_seconds for one in seen), default=0.0)
    if window < ENOUGH:
        return None
    cores = sum(one.held_cpu_seconds for one in seen) / window
    workers = [one for one in seen if one.worker and not one.holder and _cores(one) >= WAITING]
    full = [one for one in workers if _cores(one) >= FULL]
    spent = sum(one.held_seconds for one in workers)
    number = max(1, round(spent / window))
    loader = "the data loader is the limit" if any(one.name == LOADER for one in workers) else ""
    if 2 * sum(one.held_seconds for one in full) >= max(spent, window):
        share = sum(one.held_cpu_seconds for one in workers) / spent
        return RunVerdict("workers", f"{_count(number, 'worker')} at {share:.0%} CPU: {loader or _limits(number)}")
    if figures.cpus is not None and cores >= ALL_CORES * figures.cpus:
        who = f"{_count(number, 'worker')} and the main process" if workers else "the program"
        have = f"all {figures.cpus:g} CPU cores" if figures.cpus != 1 else "the only CPU core"
        return RunVerdict("cpu", f"{who} used {have}: {loader or 'the CPU is the limit'}")
    mains = [one for one in seen if one.holder] or [one for one in seen if one.frameworks and one.worker is False]
    if mains and not workers and all(FULL <= _cores(one) <= ONE_CORE for one in mains):
        line = "the main process at 100% of one core: its Python code, or loading data without workers (num_workers=0)"
        return RunVerdict("main", f"{line}, is the limit")
    return None


def _unused(figures: RunFigures, used: list[GpuFigures]) -> RunVerdict | None:
    """GPUs that nobody used while the program could have."""
    free = [gpu for gpu in figures.gpus if _is_free(gpu)]
    busy = [gpu for gpu in used if gpu not in free]
    chosen = any(_chooses(one) for one in figures.processes if one.frameworks)
    if not free or chosen or not figures.listed or len(busy) + len(free) < len(figures.gpus):
        return None
    return RunVerdict("gpus-unused", f"{len(busy)} of {len(figures.gpus)} GPUs used")


def _is_free(gpu: GpuFigures) -> bool:
    """Whether no program computed on it; one that is only held, as TensorFlow holds all of them, is free."""
    return gpu.seconds >= ENOUGH and gpu.shared is False and gpu.busy_seconds < 0.01 * gpu.seconds


def _chooses(process: ProcessFigures) -> bool:
    """Whether somebody chose GPUs for a process."""
    return any(name.endswith(("VISIBLE_DEVICES", "DEVICE_ORDINAL")) for name in process.env)


def _share(gpu: GpuFigures) -> float:
    return gpu.held_busy_seconds / gpu.held_seconds


def _cores(process: ProcessFigures) -> float:
    return process.held_cpu_seconds / process.held_seconds


# -- words ---------------------------------------------------------------------------------------------------


def _busy(used: list[GpuFigures]) -> str:
    """How much of the time they were busy."""
    if len(used) == 1:
        return f"GPU {used[0].index} busy {span(used[0].held_busy_seconds, used[0].held_seconds)}"
    return f"{len(used)} GPUs busy {sum(map(_share, used)) / len(used):.0%} of the time"


def _idle(used: list[GpuFigures]) -> str:
    """How much they held for how little."""
    peaks = [gpu.memory_peak for gpu in used if gpu.memory_peak is not None]
    held = f"held {sum(peaks) / (1 << 30):.3g} GiB, " if len(peaks) == len(used) else ""
    if len(used) == 1:
        return f"{held}GPU {used[0].index} busy {_share(used[0]):.0%}"
    return f"{held}{len(used)} GPUs busy {sum(map(_share, used)) / len(used):.0%}"


def span(part: float, whole: float) -> str:
    """A part of a time in the unit that fits the whole: "4 of 31 minutes"."""
    for unit, seconds, enough in (("seconds", 1, 120), ("minutes", 60, 7200)):
        if whole < enough:
            return f"{part / seconds:.0f} of {whole / seconds:.0f} {unit}"
    return f"{part / 3600:.1f} of {whole / 3600:.1f} hours"


def _limits(number: int) -> str:
    return "it is the limit" if number == 1 else "they are the limit"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
