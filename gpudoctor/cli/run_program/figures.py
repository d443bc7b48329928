"""What was seen of a program and of the GPUs while it ran: sums, in bounded memory, from the samplers' lines."""

from threading import Lock
from typing import Any

import msgspec

from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.sampling.lines import GpuSample, MonitorProcess, ProcessTree, SampleLine, TreeProcess

# Seconds between two looks of which nothing is known if there are more: twice the samplers' longest pause
# (workers/sampler.py, RATES).
GAP = 60.0
MAX_PROCESSES = 1000  # ended ones that used the least CPU time are summed up beyond that
MAX_INDEX = 1000
# CUDA MPS: NVML lists its clients apart (nvmlDeviceGetMPSComputeRunningProcesses), and among the others its server.
MPS = "nvidia-cuda-mps"


class GpuFigures(msgspec.Struct, kw_only=True):
    """A GPU while the program ran; times are in seconds, memory in bytes.

    Attributes:
        vendor: nvidia, amd.
        index: the driver's.
        name: its name.
        seconds: of which its utilization is known.
        busy_seconds: of these, in which a kernel ran, whosever it was.
        utilization: the mean, in percent; None: unknown.
        held_seconds: of `seconds`, those in which the program held the GPU.
        held_busy_seconds: the same of `busy_seconds`.
        memory_peak: the most that the program held; None: unknown, or nothing.
        held: whether the program was seen to hold it; None: unknown.
        shared: whether other programs were seen to hold it; None: unknown.
        mig: whether it is divided by MIG.
    """

    vendor: str
    index: int
    name: str | None = None
    seconds: float = 0.0
    busy_seconds: float = 0.0
    utilization: float | None = None
    held_seconds: float = 0.0
    held_busy_seconds: float = 0.0
    memory_peak: int | None = None
    held: bool | None = None
    shared: bool | None = None
    mig: bool | None = None


class ProcessFigures(msgspec.Struct, kw_only=True):
    """A process of the program.

    Attributes:
        pid: its number.
        parent: its parent's; None: unknown.
        name: as the kernel has it.
        cpu_seconds: user and system time until it was last seen; None: unknown.
        seconds: between the first and the last look at it.
        held_seconds: of these, in which the program held a GPU.
        held_cpu_seconds: CPU time in them.
        worker: whether it is a worker of Python's multiprocessing; None: unknown.
        holder: whether the driver listed it on a GPU.
        frameworks: the GPU frameworks that it had imported, and a library of each.
        nodes: whether it had a device node of a GPU open; None: unknown.
        looks: how often it was seen with a framework.
        env: of its environment, what selects GPUs.
    """

    pid: int
    parent: int | None = None
    name: str = ""
    cpu_seconds: float | None = None
    seconds: float = 0.0
    held_seconds: float = 0.0
    held_cpu_seconds: float = 0.0
    worker: bool | None = None
    holder: bool = False
    frameworks: dict[str, str] = {}
    nodes: bool | None = False
    looks: int = 0
    env: dict[str, str] = {}


class RunFigures(msgspec.Struct, kw_only=True):
    """All that is known of a run.

    Attributes:
        wall_seconds: from start to end.
        cpus: the cores that it may use; None: unknown.
        listed: whether the driver's lists of processes name the program's: no PID namespace hides them.
        gpus: NVIDIA's first, by index.
        processes: those with the most CPU time first.
        other_cpu_seconds: of processes that are not listed.
    """

    wall_seconds: float = 0.0
    cpus: float | None = None
    listed: bool = False
    gpus: list[GpuFigures] = []
    processes: list[ProcessFigures] = []
    other_cpu_seconds: float = 0.0


class Collector:
    """Adds up the samplers' lines; they come from several threads.

    Args:
        cpus: the cores that the program may use.
        listed: whether its processes have the numbers that the driver lists: it runs in the first PID namespace.
    """

    def __init__(self, cpus: Maybe[float], listed: bool) -> None:
        self._cpus, self._listed = cpus, listed
        self._lock = Lock()
        self._gpus: dict[str, _Gpu] = {}
        self._processes: dict[tuple[int, float], _Process] = {}
        self._now: dict[int, _Process] = {}
        self._stopped = False
        self._other = 0.0

    def take(self, line: SampleLine, vendor: str) -> None:
        """Take note of a line."""
        with self._lock:
            if line.tree is not None:
                self._take_tree(line.tree)
            word, _, number = (line.gpu or "").partition(" ")
            if word == "GPU" and number.isdecimal() and int(number) < MAX_INDEX:
                key = f"{vendor} {number}"
                gpu = self._gpus.setdefault(key, _Gpu(vendor, int(number)))
                if line.device is not None:
                    gpu.describe(line.device)
                if line.processes is not None:
                    self._take_processes(gpu, line.processes)
                if line.sample is not None:
                    gpu.take(line.sample, self._holds(gpu), self._stopped)

    def figures(self, wall: float) -> RunFigures:
        """All that is known now.

        Args:
            wall: the seconds that the program ran.
        """
        with self._lock:
            order = sorted(self._gpus.values(), key=lambda gpu: (gpu.figures.vendor != "nvidia", gpu.figures.index))
            each = [process.figures for process in self._processes.values()]
            return RunFigures(
                wall_seconds=wall,
                cpus=None if isinstance(self._cpus, Unknown) else self._cpus,
                listed=self._listed,
                gpus=[gpu.summed(self._listed) for gpu in order],
                processes=sorted(each, key=lambda one: -(one.cpu_seconds or 0.0)),
                other_cpu_seconds=self._other,
            )

    def _holds(self, gpu: "_Gpu") -> bool | None:
        """Whether the program holds a GPU at the moment.

        Where a PID namespace hides who is on it, the only GPU is the one that a framework has open.
        """
        if self._listed and gpu.figures.mig is False:
            return gpu.holds
        if len(self._gpus) > 1 or gpu.figures.mig is not False:
            return None
        return True if any(one.figures.frameworks and one.figures.nodes for one in self._now.values()) else None

    def _take_processes(self, gpu: "_Gpu", listed: tuple[MonitorProcess, ...] | Unknown) -> None:
        if isinstance(listed, Unknown) or any(isinstance(n := one.name, str) and n.startswith(MPS) for one in listed):
            gpu.holds, gpu.hidden = None, True
            return
        own = [one for one in listed if one.pid in self._now] if self._listed else []
        gpu.holds = bool(own)
        gpu.figures.shared = gpu.figures.shared or len(own) < len(listed)
        memory = [one.memory for one in own if isinstance(one.memory, int)]
        if own and len(memory) == len(own):
            gpu.figures.memory_peak = max(gpu.figures.memory_peak or 0, sum(memory))
        for one in own:
            self._now[one.pid].figures.holder = True

    def _take_tree(self, tree: ProcessTree) -> None:
        held = any(self._holds(gpu) for gpu in self._gpus.values())
        self._stopped = any(one.stopped for one in tree.processes)
        self._now = {}
        for seen in tree.processes:
            key = (seen.pid, seen.begun)
            process = self._processes.setdefault(key, _Process(seen))
            process.take(seen, tree.at, held and not self._stopped)
            self._now[seen.pid] = process
        while len(self._processes) > MAX_PROCESSES and len(self._processes) > len(self._now):
            ended = [item for item in self._processes.items() if item[1] is not self._now.get(item[0][0])]
            if not ended:
                break
            key, least = min(ended, key=lambda item: item[1].figures.cpu_seconds or 0.0)
            self._other += least.figures.cpu_seconds or 0.0
            del self._processes[key]


class _Gpu:
    """A GPU, and what was last seen of it."""

    def __init__(self, vendor: str, index: int) -> None:
        self.figures = GpuFigures(vendor=vendor, index=index)
        self.holds: bool | None = None
        self.hidden = False  # who is on it was unknown at least once
        self._at: float | None = None

    def describe(self, device: dict[str, Any]) -> None:
        """Take what hardly changes."""
        name, mig = device.get("name"), device.get("mig", self.figures.mig)
        self.figures.name = name if isinstance(name, str) else self.figures.name
        # AMD's cards and NVIDIA's older ones have no MIG, and that is null.
        self.figures.mig = False if mig is None else mig if isinstance(mig, bool) else None

    def take(self, sample: GpuSample, held: bool | None, stopped: bool) -> None:
        """Add a sample: what it shows stands for the time since the last one."""
        figures = self.figures
        span, self._at = sample.at - (self._at if self._at is not None else sample.at), sample.at
        figures.held = figures.held or held or None
        if stopped or not 0.0 < span <= GAP or not isinstance(sample.utilization, int | float):
            return
        busy = span * min(100.0, sample.utilization) / 100.0
        figures.seconds += span
        figures.busy_seconds += busy
        if held:
            figures.held_seconds += span
            figures.held_busy_seconds += busy

    def summed(self, listed: bool) -> GpuFigures:
        """The figures with the mean, and with what follows from the lists of processes if they name ours."""
        figures = self.figures
        mean = 100.0 * figures.busy_seconds / figures.seconds if figures.seconds else None
        never = listed and figures.mig is False and self.holds is False and not self.hidden
        held = figures.held or (False if never else None)
        shared = figures.shared if listed and not self.hidden else None
        return msgspec.structs.replace(figures, utilization=mean, held=held, shared=shared)


class _Process:
    """A process, and what was last seen of it."""

    def __init__(self, seen: TreeProcess) -> None:
        self.figures = ProcessFigures(pid=seen.pid)
        self._at: float | None = None

    def take(self, seen: TreeProcess, at: float, held: bool) -> None:
        """Add a look."""
        figures = self.figures
        cpu, before = _known(seen.cpu), figures.cpu_seconds
        span, self._at = at - (self._at if self._at is not None else at), at
        if 0.0 < span <= GAP:
            figures.seconds += span
            if held and cpu is not None and before is not None:
                figures.held_seconds += span
                figures.held_cpu_seconds += max(0.0, cpu - before)
        figures.name, figures.parent, figures.worker = seen.name, _known(seen.parent), _known(seen.worker)
        figures.cpu_seconds = before if cpu is None else cpu
        figures.frameworks, figures.env = seen.frameworks, seen.env
        figures.looks += bool(seen.frameworks)
        nodes = _known(seen.nodes)
        figures.nodes = nodes if nodes or figures.nodes is False else figures.nodes


def _known(value: Any) -> Any:
    return None if isinstance(value, Unknown) else value
