"""Watches the GPUs while smoke tests run: a child for each vendor's driver samples, a thread gathers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from threading import Event, Thread

from gpudoctor.facts import Facts, Gpu
from gpudoctor.facts.smoke import During
from gpudoctor.machine import OUT_OF_TIME, Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes.amd.sysfs_paths import amd_task
from gpudoctor.probes.nvidia.nvml import pynvml_folder
from gpudoctor.probes.staged_child import end_of
from gpudoctor.sampling.child import SamplerChild
from gpudoctor.sampling.history import History, KeptSamples
from gpudoctor.smoketests.telemetry import Window, busy, during, nothing
from gpudoctor.targets import gpu_key, gpus_of

MAX_SAMPLES = 24_000  # of a GPU: twenty minutes at twenty a second, which take some 7 MiB
FOREVER = 86_400.0  # seconds: longer than any run; the machine's own limit holds besides
STALLED = 2.0  # seconds without a line after which a driver counts as hung: forty samples
LEAVING = 1.0  # seconds that the end of the child is waited for
READY, EACH = (
    2.0,
    2.0,
)  # seconds in which a driver that is healthy answers, and for each GPU that has to be started first
LATE = 0.15  # seconds that the counters after a test are waited for: they come every tenth of a second at best


class Watch:
    """A context in which the GPUs are sampled some twenty times a second.

    Args:
        machine: where the driver is.
        facts: of the machine; nothing is started for a vendor of whom no driver lists a GPU.
    """

    def __init__(self, machine: Machine, facts: Facts) -> None:
        self._ours: dict[str, dict[float, float]] = {}  # by GPU when our workers began there, and were last asked about
        nvidia, amd = gpus_of(facts, "nvidia"), gpus_of(facts, "amd")
        self._patience = READY + EACH * max(0, len(nvidia) - 1)
        self._samplers = [
            *([_Sampler(machine, "nvidia", pynvml_folder(), nvidia)] if nvidia else []),
            *([_Sampler(machine, "amd", amd_task(machine, amd), amd)] if amd else []),
        ]

    def __enter__(self) -> Watch:
        for sampler in self._samplers:
            sampler.start()
        return self

    def __exit__(self, *_: object) -> None:
        for sampler in self._samplers:
            sampler.leave()
        end = time.monotonic() + LEAVING
        for sampler in self._samplers:
            sampler.join(max(0.0, end - time.monotonic()))

    def ready(self, seconds: float | None = None) -> bool:
        """Wait until every driver has answered once or failed; whether that was so within the time."""
        end = time.monotonic() + (self._patience if seconds is None else seconds)
        return all(sampler.ready(end - time.monotonic()) for sampler in self._samplers)

    def during(self, gpu: str | None, window: Window, timed: Sequence[Window]) -> During:
        """What the driver said of a GPU during a test; waits shortly for the counters after it.

        Args:
            gpu: its key (`gpudoctor.targets.gpu_key`); None: the CPU, or several GPUs.
            window: from when to when the test ran (time.monotonic).
            timed: when in it the device was busy with what is measured; empty: not told.
        """
        if gpu is None:
            return nothing("the test did not run on one GPU")
        sampler = self._of(gpu)
        return sampler.during(gpu, window, timed) if sampler else nothing("this GPU is not visible to any driver")

    def busy(self, gpu: str, before: float) -> tuple[Maybe[int | None], Maybe[int | None]]:
        """How many other processes computed on a GPU, and its utilization in per cent, when our work began.

        Args:
            gpu: its key.
            before: when our worker began to use the GPU (time.monotonic). Our own processes are never counted;
                utilization is that of the second before. From then until now it counts as ours.
        """
        sampler = self._of(gpu)
        why = Unknown("this GPU is not visible to any driver")
        ours = self._ours.setdefault(gpu, {})
        ours[before] = time.monotonic()
        windows = [window for window in ours.items() if window[0] < before]
        return sampler.busy(gpu, before, windows) if sampler else (why, why)

    def _of(self, gpu: str) -> _Sampler | None:
        return next((sampler for sampler in self._samplers if gpu in sampler.names), None)


class _Sampler:
    """One child that samples the GPUs of one vendor, and the thread that takes its lines.

    Args:
        machine: where it runs.
        vendor: nvidia, amd.
        argument: of workers/sampler.py.
        gpus: the vendor's.
    """

    def __init__(self, machine: Machine, vendor: str, argument: str, gpus: Sequence[Gpu]) -> None:
        # By a GPU's key that in the history; of AMD's partitions, which share one address, the first stands for all.
        self.names = {gpu_key(gpu): f"{vendor} {gpu.index}" for gpu in reversed(gpus)}
        self._machine, self._leaving = machine, Event()
        self._history = History(MAX_SAMPLES)
        self._child = SamplerChild("fast", vendor, argument, self._history.take)
        self._hung = self._left = False  # it hung when we left; it ended because we left
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def leave(self) -> None:
        """Ask the child to end; its thread kills it where it does not, and abandons what cannot be killed."""
        self._hung = self._stalled()
        self._leaving.set()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)

    def _run(self) -> None:
        self._child.run(self._machine, FOREVER, lambda: not self._leaving.is_set())
        with self._history.changed:
            self._left = self._leaving.is_set()
            self._history.changed.notify_all()

    # -- what was reported -------------------------------------------------------------------------------------

    def ready(self, seconds: float) -> bool:
        with self._history.changed:
            return self._history.changed.wait_for(
                lambda: self._child.ended is not None or all(self._told(n) for n in set(self.names.values())),
                max(0.0, seconds),
            )

    def _told(self, name: str) -> bool:
        kept = self._kept(name)
        return bool(kept.counters) or kept.refused is not None

    def _kept(self, name: str) -> KeptSamples:
        return self._history.gpus.get(name) or KeptSamples("", 0, 0)

    def during(self, gpu: str, window: Window, timed: Sequence[Window]) -> During:
        name = self.names[gpu]
        with self._history.changed:
            self._history.changed.wait_for(lambda: self._settled(name, window[1]), LATE)
            kept = self._kept(name)
            return during(kept.samples, kept.counters, window, timed, self._why(kept))

    def busy(self, gpu: str, before: float, ours: Sequence[Window]) -> tuple[Maybe[int | None], Maybe[int | None]]:
        with self._history.changed:
            kept = self._kept(self.names[gpu])
            return busy(kept.samples, kept.counters, before, self._why(kept), ours)

    def _settled(self, name: str, ended: float) -> bool:
        """Whether waiting is of no use: the counters after the test are there, or will not come."""
        counters = self._kept(name).counters
        return bool(counters and counters[-1].at >= ended) or self._child.ended is not None or self._stalled()

    def _stalled(self) -> bool:
        return self._child.silent(time.monotonic()) > STALLED

    def _why(self, kept: KeptSamples) -> str | None:
        """Why samples of a GPU are missing; None where nothing is wrong."""
        child, ended = self._child, self._child.ended
        if why := child.failed or kept.refused or child.absent:
            return why
        if self._hung or self._stalled():
            return f"the driver stopped responding, {child.asked}"
        if ended is not None and not (ended.timed_out and self._left):
            return OUT_OF_TIME if ended.timed_out else end_of(ended, child.stage, ended.seconds)
        return None if kept.samples else f"the driver had not responded yet (stage {child.stage})"
