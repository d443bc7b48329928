"""Started as `PYTHON rank.py TASK` for each device: sums with the others, and tells one JSON object.

It tells `wrong` and `seconds`, as base.py has them, or `error`. Then it stays until its
stdin ends: the others may still be reading what it sent, and Gloo then waits for ever for one that has gone.

A task may name the `host` of rank 0, where the others are on another machine: then nobody holds the stdin of all, and
they take leave of each other at the port. It may name the `device`, where that is not the rank, and several `sizes`,
the largest last; `each` has the seconds of every one. Without a `parent` it does not end with who started it.
"""

import sys

# Python puts this directory first; nothing of ours may hide a module of the environment. Not so with PYTHONSAFEPATH.
if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import contextlib
import ctypes
import importlib
import json
import os
import signal
import time
from datetime import timedelta

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PREFIX = "gpudoctor:"
NOT_COUNTED, COUNTED = 3, 10  # NVLink SHARP needs more than one sum to warm up
LEAVING = 10.0  # seconds for which a rank waits for the others' last words
LARGEST = 256  # up to which bfloat16 holds each whole number
PR_SET_PDEATHSIG = 1  # of linux/prctl.h


def main() -> None:
    """Sum."""
    conduct(summed)


def conduct(work: "Callable[[dict[str, Any]], dict[str, Any]]") -> None:
    """Do the task of the first argument, tell what came of it, and stay until stdin ends."""
    task = json.loads(sys.argv[1])
    if "parent" in task:
        die_with(task["parent"])
    try:
        reported = work(task)
    except Exception as error:
        reported = {"error": "%s: %s" % (type(error).__name__, str(error).strip()[:2000])}
    tell(reported)
    if "error" not in reported:
        sys.stdin.read()
    os._exit("error" in reported)


def tell(reported: "dict[str, Any]") -> None:
    """Write a JSON object on a line of its own, whatever a library has written before."""
    os.write(1, ("\n" + PREFIX + json.dumps(reported) + "\n").encode())


def die_with(parent: int) -> None:
    """Let the kernel end us when the process that started us ends, however that happens; Linux alone can."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def summed(task: "dict[str, Any]") -> "dict[str, Any]":
    """Join the others, check that sums are exact, and time those of the task's size."""
    tell({"stage": "import"})
    torch: Any = importlib.import_module("torch")
    tell({"stage": "join"})
    on_gpu = task["library"] != "gloo"
    device = torch.device("cuda", task.get("device", task["rank"])) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    store = join(torch, task)
    tell({"stage": "all-reduce"})
    wait = (lambda: torch.cuda.synchronize(device)) if on_gpu else (lambda: None)
    wrong = sum(_wrong(torch, dtype, device, task) for dtype in _exact_types(torch, task["ranks"]))
    each = [_timed(torch, device, size // 4, wait) for size in task.get("sizes", [task["bytes"]])]
    if store is not None:
        with contextlib.suppress(RuntimeError):  # those who goes first has measured all the same
            _take_leave(store, task)
    return {"wrong": wrong, "seconds": each[-1], "each": each}


def join(torch: "Any", task: "dict[str, Any]") -> "Any":
    """Meet the others at the port; gives where they met, where that is another machine's."""
    distributed, seconds = torch.distributed, timedelta(seconds=task["seconds"])
    numbers = {"rank": task["rank"], "world_size": task["ranks"]}
    if "host" not in task:
        address = "tcp://127.0.0.1:%d" % task["port"]
        distributed.init_process_group(task["library"], init_method=address, timeout=seconds, **numbers)
        return None
    store = distributed.TCPStore(task["host"], task["port"], task["ranks"], task["rank"] == 0, timeout=seconds)
    distributed.init_process_group(task["library"], store=store, timeout=seconds, **numbers)
    return store


def _take_leave(store: "Any", task: "dict[str, Any]") -> None:
    """Wait until all have what they need of the others; rank 0, whose port it is, goes last."""
    store.add("done", 1)
    _reached(store, "done", task["ranks"])
    store.add("gone", 1)
    if task["rank"] == 0:
        _reached(store, "gone", task["ranks"])


def _reached(store: "Any", name: str, count: int) -> None:
    last = time.monotonic() + LEAVING
    while store.add(name, 0) < count and time.monotonic() < last:
        time.sleep(0.01)


def _exact_types(torch: "Any", ranks: int) -> "list[Any]":
    """The types whose sums of 1, 2 ... ranks are exact."""
    return [torch.float32, torch.bfloat16] if ranks * (ranks + 1) // 2 <= LARGEST else [torch.float32]


def _wrong(torch: "Any", dtype: "Any", device: "Any", task: "dict[str, Any]") -> int:
    """How many elements differ from n (n + 1) / 2, where rank r brings r + 1."""
    ranks = task["ranks"]
    values = torch.full((task["bytes"] // 4,), float(task["rank"] + 1), dtype=dtype, device=device)
    try:
        torch.distributed.all_reduce(values)
    except RuntimeError as error:
        if dtype == torch.bfloat16 and "Invalid scalar type" in str(error):  # Gloo until PyTorch 2.0
            return 0
        raise
    return int((values != ranks * (ranks + 1) / 2).sum())


def _timed(torch: "Any", device: "Any", elements: int, wait: "Callable[[], None]") -> "list[float]":
    """Seconds of each sum that counts; a small sum before it lets all begin together."""
    values = torch.full((elements,), 1e-20, device=device)  # times the ranks in each sum: it stays a small number
    start, seconds = torch.zeros(1, device=device), []
    for at in range(NOT_COUNTED + COUNTED):
        torch.distributed.all_reduce(start)
        wait()
        begun = time.perf_counter()
        torch.distributed.all_reduce(values)
        wait()
        if at >= NOT_COUNTED:
            seconds.append(time.perf_counter() - begun)
    return seconds


if __name__ == "__main__":
    main()
