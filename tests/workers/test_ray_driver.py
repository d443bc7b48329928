"""The driver that speaks to Ray, with a Ray that is played: whom it asks, and what Ray's errors mean for a node."""

import json
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.workers import ray_driver

HOW = {"fan": 2, "seconds": 5.0, "grace": 1.0, "start": 5.0, "slack": 2.0, "argv": ["gpudoctor", "fleet", "node"]}
WELL = {"code": 0, "late": False, "words": ""}


NAMES = ("OutOfMemoryError", "GetTimeoutError", "NodeDiedError", "WorkerCrashedError", "TaskUnschedulableError")
Kinds = types.SimpleNamespace(**{name: type(name, (Exception,), {}) for name in NAMES})


class Stream:
    """What a played node answers, one piece after the other; None: it stays silent from here on."""

    def __init__(self, node: str, pieces: list[Any]) -> None:
        self.node, self.pieces = node, pieces
        self.cancelled = False

    def __next__(self) -> Any:
        if not self.pieces:
            raise StopIteration
        return self.pieces.pop(0)


class PlayedRay:
    """A Ray whose nodes answer what the test says."""

    exceptions = Kinds

    def __init__(self, answers: dict[str, list[Any]], tick: Callable[[], None]) -> None:
        self.answers, self._tick = answers, tick
        self.asked: list[Stream] = []
        self.options: list[dict[str, Any]] = []
        self.cloudpickle = types.SimpleNamespace(register_pickle_by_value=lambda module: None)
        self.most = 0

    def remote(self, **options: Any) -> Any:
        self.options.append(options)

        def pinned(scheduling_strategy: Any) -> Any:
            return types.SimpleNamespace(remote=lambda *args: self._start(scheduling_strategy.node_id))

        return lambda function: types.SimpleNamespace(options=pinned)

    def _start(self, node: str) -> Stream:
        answers = self.answers[node]
        if isinstance(answers[0], ValueError):
            raise answers[0]
        self.asked.append(Stream(node, list(answers)))
        return self.asked[-1]

    def wait(self, streams: list[Stream], num_returns: int, timeout: float) -> tuple[list[Stream], list[Stream]]:
        self._tick()
        self.most = max(self.most, len(streams))
        ready = [one for one in streams if one.pieces[:1] != [None]][:num_returns]
        return ready, [one for one in streams if one not in ready]

    def get(self, piece: Any, timeout: float) -> Any:
        if isinstance(piece, Exception):
            raise piece
        return piece

    def cancel(self, stream: Stream, force: bool) -> None:
        stream.cancelled = force


class Affinity:
    def __init__(self, node_id: str, soft: bool) -> None:
        assert not soft, "a task never runs on another node than its own"
        self.node_id = node_id


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Time that goes on by half a second with each look."""
    now = [100.0]
    monkeypatch.setattr("gpudoctor.workers.ray_driver.time.monotonic", lambda: now[0])
    module = types.SimpleNamespace(NodeAffinitySchedulingStrategy=Affinity)
    monkeypatch.setitem(sys.modules, "ray", types.ModuleType("ray"))
    monkeypatch.setitem(sys.modules, "ray.util", types.ModuleType("ray.util"))
    monkeypatch.setitem(sys.modules, "ray.util.scheduling_strategies", module)
    monkeypatch.setitem(sys.modules, "ray_task", types.SimpleNamespace(on_node=None, word=None))

    def tick() -> None:
        now[0] += 0.5

    return tick


def conducted(ray: PlayedRay, stop_after: int = -1) -> dict[str, list[Any]]:
    """By node, the lines that were told, and at last the state and why."""
    reported: dict[str, list[Any]] = {}

    def say(node: str, **what: Any) -> None:
        reported.setdefault(node, []).append(what.get("text", what.get("over")))
        round_.stopped = sum(map(len, reported.values())) == stop_after

    round_ = ray_driver.RayRound(ray, {**HOW, "nodes": list(ray.answers)}, say)
    round_.conduct()
    return reported


def test_each_node_is_told_once_with_what_it_wrote(clock: Callable[[], None]) -> None:
    ray = PlayedRay({"a": [b"", b"one\ntw", b"o\nrest", WELL], "b": [b"", {"missing": "No such file"}]}, clock)
    assert conducted(ray) == {
        "a": ["one", "two", "rest", ["failed", "The command failed there with exit code 0."]],
        "b": [["failed", "gpudoctor cannot be started there: No such file."]],
    }
    assert ray.options == [{"num_cpus": 0, "num_gpus": 0, "max_retries": 0, "num_returns": "streaming"}]


def test_no_more_nodes_than_the_fan_are_asked_at_once(clock: Callable[[], None]) -> None:
    ray = PlayedRay({f"n{i}": [b"", WELL] for i in range(7)}, clock)
    assert len(conducted(ray)) == 7
    assert ray.most == HOW["fan"]


def test_a_node_that_never_begins_and_one_that_never_ends_are_given_up(clock: Callable[[], None]) -> None:
    ray = PlayedRay({"mute": [None], "slow": [b"", b"hello\n", None], "well": [b"", WELL]}, clock)
    assert conducted(ray) == {
        "mute": [["unreachable", "Ray did not start the task there within 5 s."]],
        "slow": ["hello", ["timed out", "It did not finish within 5 s."]],
        "well": [["failed", "The command failed there with exit code 0."]],
    }
    assert {one.node for one in ray.asked if one.cancelled} == {"mute", "slow"}


def test_when_it_is_stopped_what_runs_is_ended_and_nobody_else_is_asked(clock: Callable[[], None]) -> None:
    ray = PlayedRay({"a": [b"", b"hello\n", None], "b": [None], "c": [b"", WELL]}, clock)
    assert conducted(ray, stop_after=1) == {"a": ["hello"]}
    assert [(one.node, one.cancelled) for one in ray.asked] == [("a", True), ("b", True)]


def test_a_task_that_ray_does_not_take_fails_alone(clock: Callable[[], None]) -> None:
    ray = PlayedRay({"a": [ValueError("Invalid node_id")], "b": [b"", WELL]}, clock)
    reported = conducted(ray)
    assert reported["a"] == [["failed", "Ray rejected the task: Invalid node_id"]]
    assert "b" in reported


CUT = "It disappeared during the run: "
GONE = "Ray no longer has this node: "
MEMORY = "Ray killed the task because memory was full: "


@pytest.mark.parametrize(
    ("error", "began", "state", "why"),
    [
        (Kinds.NodeDiedError("The node is dead. Node ID: 0ee7."), True, "unreachable", f"{CUT}The node is dead."),
        (Kinds.WorkerCrashedError("The worker died."), False, "unreachable", "It disappeared: The worker died."),
        (Kinds.TaskUnschedulableError("no such node. lease_id=3"), False, "unreachable", f"{GONE}no such node."),
        (Kinds.OutOfMemoryError("Task was killed. More."), True, "failed", f"{MEMORY}Task was killed."),
        (Kinds.GetTimeoutError("Get timed out"), True, "unreachable", "It did not respond within 20 s."),
        (RuntimeError(""), True, "failed", "Ray: RuntimeError."),
    ],
)
def test_what_rays_errors_mean(error: Exception, began: bool, state: str, why: str) -> None:
    """Only the first sentence stays: those behind it name ids, by which no two nodes would say the same."""
    assert ray_driver.verdict(types.SimpleNamespace(exceptions=Kinds), error, began) == (state, why)


@pytest.mark.parametrize(
    ("how", "state", "why"),
    [
        (
            {"code": 127, "late": False, "words": "\nsh: no\n"},
            "failed",
            "The command failed there with exit code 127: sh: no",
        ),
        ({"code": -11, "late": False, "words": ""}, "failed", "The command was killed there by signal 11."),
        ({"code": -9, "late": True, "words": ""}, "timed out", "It did not finish within 5 s."),
        ({"code": None, "late": False, "words": ""}, "failed", "The command was killed there by signal unknown."),
    ],
)
def test_how_a_command_ended(how: dict[str, Any], state: str, why: str) -> None:
    assert ray_driver.ended(how, "sh", 5.0) == (state, why)


def test_the_nodes_are_told_with_their_gpus_and_why_they_are_dead() -> None:
    listed = [
        {"NodeID": "1a", "Alive": True, "NodeManagerHostname": "h", "NodeManagerAddress": "10.0.0.1",
         "NodeName": "10.0.0.1", "Resources": {"GPU": 8.0, "CPU": 1.0}},
        {"NodeID": "2b", "Alive": False, "DeathReason": 2, "DeathReasonMessage": "missed heartbeats"},
    ]  # fmt: skip
    one, other = ray_driver.nodes(types.SimpleNamespace(nodes=lambda: listed))
    assert (one["id"], one["host"], one["alive"], one["gpus"]) == ("1a", "h", True, 8)
    assert (other["alive"], other["gpus"], other["reason"]) == (False, None, "2")
    assert other["words"] == "missed heartbeats"


def driven(folder: Path, ray: str) -> "subprocess.CompletedProcess[str]":
    """The driver in a process of its own, where `import ray` brings this text."""
    (folder / "ray.py").write_text(ray)
    argv = [sys.executable, ray_driver.__file__]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    asked = '{"address": "auto"}'
    return subprocess.run(argv, input=asked, env=env, cwd="/", capture_output=True, text=True, timeout=60)


def test_of_what_ray_prints_nothing_is_ours(tmp_path: Path) -> None:
    words = "Version mismatch:\\n  Python: 3.9.1"
    text = (
        f"import os\nos.write(1, b'noise')\ndef shutdown(): print('more')\ndef init(**_): raise RuntimeError('{words}')"
    )
    ended = driven(tmp_path, text)
    assert json.loads(ended.stdout) == {"error": ["ray", "Version mismatch: Python: 3.9.1"]}
    assert "noise" in ended.stderr


def test_that_ray_is_missing_is_told(tmp_path: Path) -> None:
    ended = driven(tmp_path, "raise ModuleNotFoundError('No module named ray')")
    assert json.loads(ended.stdout) == {"error": ["import", "No module named ray"]}


PLAYED = """
import os, types
cloudpickle = types.SimpleNamespace(register_pickle_by_value=lambda module: None)
def init(**_): os.environ.setdefault("RAY_AUTH_MODE", "token")
def shutdown(): pass
def nodes(): return [{"NodeID": "a", "Alive": 0}]
def remote(**_): return lambda function: types.SimpleNamespace(remote=function)
def wait(streams, **_): return (streams if WORKERS_ARE_HEARD else []), []
"""


@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize("mode", ["", "token", "disabled"])
def test_a_token_that_the_cluster_does_not_know_is_told(
    heard: bool, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where Ray took it of its own accord: who says what he wants gets it."""
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    if mode:
        monkeypatch.setenv("RAY_AUTH_MODE", mode)
    reported = json.loads(driven(tmp_path, PLAYED.replace("WORKERS_ARE_HEARD", str(heard))).stdout)
    assert list(reported) == ["nodes" if heard or mode else "error"]
    assert reported.get("error", ["auth"])[0] == "auth"


def test_the_nodes_of_a_cluster_are_told_on_one_line(tmp_path: Path) -> None:
    ended = driven(
        tmp_path, "def init(**_): pass\ndef shutdown(): pass\ndef nodes(): return [{'NodeID': 'a', 'Alive': 0}]"
    )
    assert [one["id"] for one in json.loads(ended.stdout)["nodes"]] == ["a"]
