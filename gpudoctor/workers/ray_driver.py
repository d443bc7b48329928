"""Speaks to a Ray cluster for gpudoctor: lists its nodes, or runs one command on each, and tells a JSON object a line.

It runs in a process of its own because Ray starts threads, takes the signals of its process, writes to its output and
ends it with abort() where the cluster goes; and because Ray demands its own release of Python on both sides, which may
be another than gpudoctor's. Standard library and ray only, Python 3.8 and newer.

    ray_driver.py < {"address": "auto"}
    ray_driver.py < {"address": ..., "argv": [...], "nodes": [ID, ...], "fan": N, "seconds": S, "grace": S, "start": S,
                     "slack": S}

What it tells: {"error": [kind, words]}, {"nodes": [...]}, or {"connected": true} and then, by the node's id,
{"node": ID, "text": ...} for what the command wrote and {"node": ID, "over": [state, why]} once for each.
"""

from __future__ import annotations

import sys

# Python puts this directory first; nothing of ours may hide a module of the environment. Not so with PYTHONSAFEPATH.
if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import importlib
import json
import os
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Say = Callable[..., None]

LOOK = 0.5  # seconds between two looks at the deadlines
FETCH = 20.0  # seconds for a piece of output that Ray says is there
WORD = 15.0  # seconds for a first word of a worker's
AUTH = "RAY_AUTH_MODE"
TIDY = 5  # seconds for leaving the cluster
LONGEST = 600  # characters of somebody's words


class RayTask:
    """A node that was asked: Ray's stream of what it answers, and since when."""

    def __init__(self, node: str, stream: Any) -> None:
        self.node, self.stream = node, stream
        self.since, self.began = time.monotonic(), False
        self.rest = b""


class RayRound:
    """Asks all nodes, so many at once.

    Args:
        ray: the module.
        asked: what gpudoctor sent.
        say: tells a line.
    """

    def __init__(self, ray: Any, asked: dict[str, Any], say: Say) -> None:
        self._ray, self._how, self._say = ray, asked, say
        self._waiting = list(reversed(asked["nodes"]))
        self._running: list[RayTask] = []
        self.stopped = False
        affinity = importlib.import_module("ray.util.scheduling_strategies")
        self._affinity = affinity.NodeAffinitySchedulingStrategy
        self._task = remote(ray, "on_node")

    def conduct(self) -> None:
        """Until every node is over, or somebody stops it; then what runs is ended."""
        while not self.stopped and (self._waiting or self._running):
            while self._waiting and len(self._running) < self._how["fan"]:
                self._ask(self._waiting.pop())
            self._hear()
            for one in [one for one in self._running if self._late(one)]:
                self._give_up(one)
        for one in self._running:
            self._cancel(one)

    def _ask(self, node: str) -> None:
        pinned = self._task.options(scheduling_strategy=self._affinity(node_id=node, soft=False))
        try:
            stream = pinned.remote(self._how["argv"], self._how["seconds"] + self._how["grace"])
        except Exception as error:
            self._over(node, "failed", "Ray rejected the task: " + text(error))
        else:
            self._running.append(RayTask(node, stream))

    def _hear(self) -> None:
        by_stream = {id(one.stream): one for one in self._running}
        if not by_stream:
            return
        ready, _ = self._ray.wait([one.stream for one in self._running], num_returns=1, timeout=LOOK)
        for stream in ready:
            one = by_stream[id(stream)]
            try:
                self._take(one, self._ray.get(next(stream), timeout=FETCH))
            except StopIteration:
                self._end(one, "failed", "The task ended without a result.")
            except Exception as error:
                self._end(one, *verdict(self._ray, error, one.began))

    def _take(self, one: RayTask, piece: Any) -> None:
        if isinstance(piece, dict):
            self._end(one, *ended(piece, self._how["argv"][0], self._how["seconds"]))
            return
        if not one.began:
            one.began, one.since = True, time.monotonic()
        *lines, one.rest = (one.rest + piece).split(b"\n")
        if len(one.rest) > 1 << 20:
            one.rest = b""  # no line of ours
        for line in lines:
            self._say(node=one.node, text=line.decode(errors="replace"))

    def _late(self, one: RayTask) -> bool:
        limit = self._how["seconds"] + self._how["slack"] if one.began else self._how["start"]
        return bool(time.monotonic() - one.since > limit)

    def _give_up(self, one: RayTask) -> None:
        self._cancel(one)
        if one.began:
            self._end(one, "timed out", "It did not finish within %.0f s." % self._how["seconds"])
        else:
            self._end(one, "unreachable", "Ray did not start the task there within %.0f s." % self._how["start"])

    def _cancel(self, one: RayTask) -> None:
        try:
            self._ray.cancel(one.stream, force=True)
        except Exception as error:  # the node is gone, or Ray is: nothing runs there any more
            print(text(error), file=sys.stderr)

    def _end(self, one: RayTask, state: str, why: str) -> None:
        self._running.remove(one)
        if one.rest:
            self._say(node=one.node, text=one.rest.decode(errors="replace"))
        self._over(one.node, state, why)

    def _over(self, node: str, state: str, why: str) -> None:
        self._say(node=node, over=[state, why])


def remote(ray: Any, name: str) -> Any:
    """A generator of ray_task.py as a task of Ray's, which carries its module by value.

    Neither a CPU nor a GPU is asked for: a node whose jobs hold all of them is checked next to them.
    """
    task = importlib.import_module("ray_task")
    ray.cloudpickle.register_pickle_by_value(task)
    return ray.remote(num_cpus=0, num_gpus=0, max_retries=0, num_returns="streaming")(getattr(task, name))


def ended(how: dict[str, Any], program: str, seconds: float) -> tuple[str, str]:
    """How a node ended whose command ended, if there is no report: a state of the ledger, and one sentence."""
    if "missing" in how:
        return "failed", "%s cannot be started there: %s." % (program, how["missing"])
    if how["late"]:
        return "timed out", "It did not finish within %.0f s." % seconds
    code, words = how["code"], [line.strip() for line in how["words"].splitlines() if line.strip()]
    said = ": " + words[-1][-LONGEST:] if words else "."
    if code is None or code < 0:
        return "failed", "The command was killed there by signal %s%s" % (-(code or 0) or "unknown", said)
    return "failed", "The command failed there with exit code %d%s" % (code, said)


def verdict(ray: Any, error: BaseException, began: bool) -> tuple[str, str]:
    """What an exception of Ray's means for the node: a state of the ledger, and one sentence."""
    kinds = ray.exceptions
    if isinstance(error, kinds.OutOfMemoryError):
        return "failed", "Ray killed the task because memory was full: " + sentence(error)
    if isinstance(error, kinds.GetTimeoutError):
        return "unreachable", "It did not respond within %.0f s." % FETCH
    gone = ("NodeDiedError", "WorkerCrashedError", "LocalRayletDiedError", "ObjectLostError", "RpcError")
    if isinstance(error, tuple(getattr(kinds, name) for name in gone if hasattr(kinds, name))):
        return "unreachable", ("It disappeared during the run: " if began else "It disappeared: ") + sentence(error)
    if isinstance(error, getattr(kinds, "TaskUnschedulableError", ())):
        return "unreachable", "Ray no longer has this node: " + sentence(error)
    return "failed", "Ray: " + sentence(error)


def nodes(ray: Any) -> list[dict[str, Any]]:
    """What Ray knows of the nodes, the dead ones too; only what gpudoctor asks."""
    return [
        {
            "id": one["NodeID"],
            "name": one.get("NodeName") or "",
            "host": one.get("NodeManagerHostname") or "",
            "address": one.get("NodeManagerAddress") or "",
            "alive": bool(one["Alive"]),
            "gpus": int(one.get("Resources", {}).get("GPU", 0)) if one["Alive"] else None,
            "reason": str(one.get("DeathReason", "")),
            "words": one.get("DeathReasonMessage") or "",
        }
        for one in ray.nodes()
    ]


def text(error: BaseException) -> str:
    """The words of an exception, in one line."""
    words = " ".join(str(error).split()) or type(error).__name__
    return words if len(words) <= LONGEST else words[:LONGEST] + "..."


def sentence(error: BaseException) -> str:
    """The first sentence of an exception's words: those behind it name ids, and many nodes would not say the same."""
    return text(error).partition(". ")[0].rstrip(".") + "."


def hears(ray: Any) -> bool:
    """Whether a word of a worker's reaches us.

    Ray (2.60) demands a token of the workers where the driver has one, even of those of a cluster that was started
    without: then plain tasks are answered, and of what a task yields nothing ever comes.
    """
    stream = remote(ray, "word").remote()
    ready, _ = ray.wait([stream], num_returns=1, timeout=WORD)
    return bool(ready)


def speak(ray: Any, asked: dict[str, Any], say: Say) -> None:
    """Do what gpudoctor asks."""
    # Nothing that Ray or a worker prints is ours.
    mode = os.environ.get(AUTH)
    ray.init(address=asked["address"], log_to_driver=False, logging_level="ERROR", configure_logging=False)
    if "argv" not in asked:
        chosen = mode is None and os.environ.get(AUTH) == "token"  # by Ray, where the user's home holds a token
        if chosen and not hears(ray):
            say(error=["auth", "the cluster's workers do not send this user's token (~/.ray/auth_token)"])
            return
        say(nodes=nodes(ray))
        return
    say(connected=True)
    round_ = RayRound(ray, asked, say)
    # After Ray's own handler, which would end the process before the tasks are.
    signal.signal(signal.SIGTERM, lambda *_: setattr(round_, "stopped", True))
    round_.conduct()


def main() -> None:
    """Read what is asked, and tell what is found."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # from here on whatever Ray prints goes to stderr

    def say(**reported: Any) -> None:
        channel.write(json.dumps(reported) + "\n")
        channel.flush()

    sys.path.append(os.path.dirname(__file__))  # at the end, so that nothing there hides a module of the environment
    asked = json.load(sys.stdin)
    try:
        ray = importlib.import_module("ray")
    except ImportError as error:
        say(error=["import", text(error)])
        return
    try:
        speak(ray, asked, say)
    except Exception as error:
        say(error=["ray", text(error)])
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(TIDY)  # where the cluster is gone, leaving it can take a minute
    ray.shutdown()


if __name__ == "__main__":
    main()
    sys.stderr.flush()
    os._exit(0)  # Ray's own tidying has been done; its threads may hang after it
