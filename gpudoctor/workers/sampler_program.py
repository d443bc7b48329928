"""Looks at the processes of a program that somebody runs; loaded by sampler.py next to it.

Nothing is done to the program: all of it is read from /proc, by psutil where psutil has it.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gpudoctor.workers.sampler import ProcessTable

# What a program has open that computes on a GPU: nodes of NVIDIA's driver, AMD's compute driver, DRM (Intel, AMD), WSL,
# Jetson. What only asks NVML about GPUs has some of them open too: only where there are none, that shows something.
NODES = ("/dev/nvidia", "/dev/kfd", "/dev/dri/", "/dev/dxg", "/dev/nvhost", "/dev/nvmap", "/dev/nvgpu")
# Command lines of Python's multiprocessing: multiprocessing/spawn.py get_command_line, forkserver.py; joblib's loky.
WORKERS = ("multiprocessing.", "multiprocessing-fork", "joblib.externals.loky")
COMPILER = "_inductor/compile_worker"  # torch.compile's, whose forks look like a data loader's
DENIED = {"unknown": "the system does not show it to this user"}


class ProgramTree:
    """The processes of a program: the one that was started, its descendants, also those that outlived their parent.

    Args:
        root: the process id of the program.
        libraries: by framework, a part of the path of a library that its import maps.
        variables: the names of the environment variables to report.
        processes: has psutil.
    """

    name = "program"

    def __init__(self, root: int, libraries: dict[str, str], variables: list[str], processes: ProcessTable) -> None:
        self._libraries, self._variables = libraries, variables
        self._ps = processes.psutil()
        self._known: dict[Any, dict[str, Any]] = {}
        self._root = self._ps.Process(root)

    def tree(self) -> dict[str, Any]:
        """One look at all of them."""
        found = {self._root, *self._known}
        try:
            found.update(self._root.children(recursive=True))
        except (self._ps.Error, OSError):  # it has ended
            pass
        looked = {process: self._look(process) for process in found}
        self._known = {process: seen for process, seen in looked.items() if seen is not None}
        return {"processes": list(self._known.values())}

    def _look(self, process: Any) -> dict[str, Any] | None:
        """What there is to see of a process; None where it has ended."""
        before = self._known.get(process, {})
        try:
            with process.oneshot():
                if not process.is_running() or process.status() == self._ps.STATUS_ZOMBIE:
                    return None
                times = process.cpu_times()
                seen = {
                    "pid": process.pid,
                    "parent": process.ppid(),
                    "begun": process.create_time(),
                    "name": process.name(),
                    "cpu": round(times.user + times.system, 2),
                    "stopped": process.status() in (self._ps.STATUS_STOPPED, self._ps.STATUS_TRACING_STOP),
                    "worker": self._is_worker(process),
                }
        except (self._ps.Error, OSError, ValueError):
            return None
        frameworks = before.get("frameworks") or self._frameworks(process.pid)
        return dict(
            seen,
            frameworks=frameworks,
            nodes=before.get("nodes") is True or self._nodes(process.pid),
            env=before.get("env") or (self._environment(process) if frameworks else {}),
        )

    def _is_worker(self, process: Any) -> Any:
        if process == self._root:
            return False
        try:
            words = process.cmdline()
            if any(COMPILER in word for word in words):
                return False
            if any(mark in word for word in words for mark in WORKERS):
                return True
            return words == self._ps.Process(process.ppid()).cmdline()
        except self._ps.NoSuchProcess:
            return False
        except (self._ps.Error, OSError):
            return DENIED

    def _frameworks(self, pid: int) -> dict[str, str]:
        """The frameworks that a process has imported: those of which it has mapped a library, and its path."""
        found: dict[str, str] = {}
        try:
            with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as lines:
                text = lines.read()
        except OSError:
            return found
        for framework, part in self._libraries.items():
            at = text.find(part)
            if at >= 0:
                line = text[text.rfind("\n", 0, at) + 1 : text.find("\n", at)]
                found[framework] = line[line.find("/") :]
        return found

    def _nodes(self, pid: int) -> Any:
        """Whether a process has a device node of a GPU open now."""
        folder = "/proc/%d/fd" % pid
        try:
            names = os.listdir(folder)
        except OSError:
            return DENIED
        for name in names:
            try:
                if os.readlink("%s/%s" % (folder, name)).startswith(NODES):
                    return True
            except OSError:  # closed meanwhile
                continue
        return False

    def _environment(self, process: Any) -> dict[str, str]:
        try:
            env = process.environ()
        except (self._ps.Error, OSError, ValueError):
            return {}
        return {name: env[name] for name in self._variables if name in env}


def gpus(task: str, say: Callable[..., None], processes: ProcessTable) -> list[Any]:
    """Return the one thing to ask: the program.

    Args:
        task: in JSON the arguments of `ProgramTree`.
        say: writes a line.
        processes: has psutil.
    """
    ps = processes.psutil()
    if ps is None:
        say(no_module="psutil cannot be imported")
        return []
    try:
        return [ProgramTree(processes=processes, **json.loads(task))]
    except (ps.Error, OSError):  # it has ended already
        return []
