"""Watches a program from outside while it runs: its processes, and the GPUs, each in a child that samples."""

import json
import os
from contextlib import suppress
from threading import Lock, Timer
from typing import TYPE_CHECKING

from gpudoctor.registry import FRAMEWORKS

if TYPE_CHECKING:
    from gpudoctor.cli.run_program.figures import Collector, RunFigures
    from gpudoctor.monitor.sampler import Sampler

# Seconds after which watching begins: most commands have ended by then and cost nothing; one that trains has not yet
# imported its framework.
DELAY = 5.0
LIBRARIES = {one.module: one.library for one in FRAMEWORKS}
# What selects GPUs in a program's environment, as `gpudoctor.probes.host.environment` reads it in ours.
VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "CUDA_DEVICE_ORDER",
    "JAX_PLATFORMS",
)  # fmt: skip
FIRST_NAMESPACE = 0xEFFFFFFC  # PROC_PID_INIT_INO of include/linux/proc_ns.h: the inode of the first PID namespace


class ProgramWatch:
    """The samplers of one run; none is started for a program that ends at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._timer: Timer | None = None
        self._collector: Collector | None = None
        self._samplers: list[Sampler] = []
        self._over = False

    def start(self, pid: int) -> None:
        """ProgramWatch a program, by its process id, from a while after now."""
        self._timer = Timer(DELAY, self._begin, (pid,))
        self._timer.daemon = True
        with suppress(RuntimeError):  # this user may have no more threads
            self._timer.start()

    def end(self, wall: float) -> "RunFigures | None":
        """Stop watching; gives what was seen, None if watching had not begun.

        Args:
            wall: the seconds that the program ran.
        """
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._over = True
            for sampler in self._samplers:
                sampler.stop()
            return self._collector.figures(wall) if self._collector else None

    def _begin(self, pid: int) -> None:
        with suppress(Exception):  # a fault of ours is nothing that the program's user has to see
            collector, samplers = _made(pid)
            with self._lock:
                if self._over:
                    return
                self._collector, self._samplers = collector, samplers
                for sampler in samplers:
                    sampler.start()


def _made(pid: int) -> "tuple[Collector, list[Sampler]]":
    """What adds up, and the samplers: a child for the program, and one a vendor."""
    from gpudoctor.cli.run_program.figures import Collector
    from gpudoctor.machine import Machine
    from gpudoctor.monitor.sampler import Sampler
    from gpudoctor.monitor.vendors import VENDORS, SamplerTask, Vendor
    from gpudoctor.probes.host.limits import Cgroups, cpus

    machine = Machine()
    task = SamplerTask(json.dumps({"root": pid, "libraries": LIBRARIES, "variables": VARIABLES}))
    program = Vendor("program", "the kernel", lambda _: task)
    collector = Collector(cpus(machine, Cgroups(machine)), in_first_namespace())
    vendors = [Sampler(vendor, Machine, collector, "run") for vendor in VENDORS]
    return collector, [Sampler(program, Machine, collector, "tree"), *vendors]


def in_first_namespace() -> bool:
    """Whether process ids here are those that drivers list."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino == FIRST_NAMESPACE
    except OSError:
        return False
