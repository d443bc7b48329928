"""The Ray engine against a real cluster of eight nodes on this machine, one of which is killed in mid-run."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import IO

import pytest

from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, NodeLine, Over
from gpudoctor.fleet.runner.engines.ray import Ray
from gpudoctor.fleet.runner.protocol import Assembler, Hello, Landed

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(600)]
NODES = 8
SECONDS = 120  # for what Ray does of its own accord
# The cluster, in a process of its own: it kills the node whose number it reads, and ends with its standard input.
CLUSTER = f"""
import sys
from ray.cluster_utils import Cluster
cluster = Cluster()
small = dict(num_cpus=1, num_gpus=2, object_store_memory=80 << 20, include_dashboard=False)
nodes = [cluster.add_node(node_name=f"node{{n}}", **small) for n in range({NODES})]
print("address", cluster.address, flush=True)
for line in sys.stdin:
    cluster.remove_node(nodes[int(line)], allow_graceful=False)
    print("killed", flush=True)
cluster.shutdown()
"""
# What a node runs, with nothing but Python there: a report, with a long silence in the middle where that is wanted.
NODE = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from gpudoctor.fleet.runner import protocol
name = "anybody"  # the engine knows whose lines they are
print(protocol.hello(name), flush=True)
time.sleep(float(sys.argv[2]))
seen = os.environ.get("CUDA_VISIBLE_DEVICES", "not set"), os.environ.get("OMP_NUM_THREADS", "not set")
for line in protocol.lines(name, repr(seen).encode() * 20_000):
    print(line)
print("a word on the side", file=sys.stderr)
"""
ROOT = str(Path(__file__).parents[3])


class Running:
    """A cluster that runs.

    Args:
        python: an interpreter with Ray.
        folder: for Ray's files.
    """

    def __init__(self, python: str, folder: Path) -> None:
        self.python, self.folder = python, folder
        env = {**os.environ, "RAY_TMPDIR": str(folder), "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "5"}
        env["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "1"  # as older releases: Ray hides the GPUs from our task
        for name in ("CUDA_VISIBLE_DEVICES", "RAY_ADDRESS", "RAY_AUTH_MODE"):
            env.pop(name, None)
        env["HOME"] = str(folder)  # no token of this user's is there
        with (folder / "noise").open("wb") as noise:
            argv = [python, "-c", CLUSTER]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=noise, env=env, cwd=folder)
        self.address = self._says("address")

    def kill(self, number: int) -> None:
        """Kill all processes of a node, and wait for it."""
        stdin = self._process.stdin
        assert stdin is not None
        stdin.write(b"%d\n" % number)
        stdin.flush()
        self._says("killed")

    def _says(self, word: str) -> str:
        stdout: IO[bytes] | None = self._process.stdout
        assert stdout is not None
        while line := stdout.readline().decode():
            if line.startswith(word):
                return line.removeprefix(word).strip()
        raise AssertionError((self.folder / "noise").read_text()[-2000:])

    def stop(self) -> None:
        """End all of it."""
        try:
            self._process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@pytest.fixture(scope="module")
def python(interpreter: Callable[..., str]) -> str:
    """An interpreter of this release with Ray and what gpudoctor needs, but not gpudoctor."""
    return interpreter("ray", "ray", "msgspec", "packaging")


@pytest.fixture
def cluster(python: str) -> Iterator[Running]:
    # Ray's sockets lie below the folder, and their paths have 107 bytes at most: pytest's own folders are too long.
    with tempfile.TemporaryDirectory(prefix="r", ignore_cleanup_errors=True) as place:
        running = Running(python, Path(place))
        try:
            yield running
        finally:
            running.stop()


class Reported:
    """What the engine told, and the reports that its lines carry."""

    def __init__(self) -> None:
        self.lines: list[NodeLine] = []
        self.overs: list[Over] = []
        self.hellos: list[str] = []
        self.reports: dict[str, bytes] = {}
        self._assembler = Assembler()

    def __call__(self, one: NodeLine | Over) -> None:
        if isinstance(one, Over):
            self.overs.append(one)
            return
        self.lines.append(one)
        found = self._assembler.feed(one.text, one.node)
        if isinstance(found, Hello):
            self.hellos.append(found.node)
        if isinstance(found, Landed):
            self.reports[found.node] = found.data

    def states(self) -> dict[str, str]:
        """The state in which the engine left each node."""
        assert len(self.overs) == len({one.node for one in self.overs}), "a node is told to be over once"
        return {one.node: one.state for one in self.overs}


class Run(Thread):
    """A run of the engine in a thread of its own."""

    def __init__(self, engine: Ray, targets: list[FleetTarget], job: NodeJob) -> None:
        super().__init__(daemon=True)
        self.reported, self.halt = Reported(), Event()
        self._what = engine, targets, job

    def run(self) -> None:
        """What the thread does."""
        engine, targets, job = self._what
        engine.run(targets, job, self.reported, self.halt)

    def ended(self) -> Reported:
        """What was told, when it is over."""
        self.join(SECONDS)
        assert not self.is_alive(), "nothing hangs"
        return self.reported


def command(python: str, silent: float) -> tuple[str, ...]:
    return (python, "-c", NODE, ROOT, str(silent))


def until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, f"{what} does not come"
        time.sleep(0.1)


def processes(word: str) -> list[str]:
    """The command lines that hold this word, but for our own."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in text and path.parent.name != str(os.getpid()):
            found.append(text[:200])
    return found


def test_all_report_and_one_that_is_killed_in_mid_run_is_unreachable(cluster: Running) -> None:
    engine = Ray(address=cluster.address, python=cluster.python)
    targets = list(engine.targets(""))
    names = [f"node{n}" for n in range(NODES)]
    assert sorted(one.node for one in targets) == names
    assert {(one.why_not, one.gpus) for one in targets} == {("", 2)}

    well = Run(engine, targets, NodeJob(command(cluster.python, 0), 60))
    well.start()
    reported = well.ended()
    assert sorted(reported.reports) == names
    assert set(reported.reports.values()) == {repr(("not set", "5")).encode() * 20_000}, "as its raylet was started"
    assert reported.states() == dict.fromkeys(names, "failed"), "by the engine alone; reports are counted elsewhere"
    assert {one.why for one in reported.overs} == {"The command failed there with exit code 0: a word on the side"}
    assert {one.node for one in reported.lines} == set(names)

    mark = f"{60 + os.getpid() / 1e6:.6f}"  # found again among the processes
    broken = Run(engine, targets, NodeJob(command(cluster.python, float(mark)), 8))
    broken.start()
    until(lambda: len(broken.reported.hellos) == NODES, "the beginning")
    cluster.kill(3)
    reported = broken.ended()
    assert reported.states() == {**dict.fromkeys(names, "timed out"), "node3": "unreachable"}
    (why,) = [one.why for one in reported.overs if one.node == "node3"]
    assert why.startswith("It disappeared during the run: ")
    until(lambda: not processes(mark), "the end of what it started")

    left = [name for name in names if name != "node3"]
    repaired = Run(engine, targets, NodeJob(command(cluster.python, 0), 60))
    repaired.start()
    reported = repaired.ended()
    assert sorted(reported.reports) == left
    assert reported.states()["node3"] == "unreachable", "it is asked as it was known, and Ray has it no more"

    later = {one.node: one.why_not for one in Ray(address=cluster.address, python=cluster.python).targets("")}
    assert sorted(name for name, why_not in later.items() if not why_not) == left
    (named,) = Ray(address=cluster.address, python=cluster.python).targets("node3")
    assert named.why_not


def test_a_stopped_run_leaves_nothing_behind(cluster: Running) -> None:
    engine = Ray(address=cluster.address, python=cluster.python)
    mark = f"{300 + os.getpid() / 1e6:.6f}"
    run = Run(engine, list(engine.targets("node[1-3]")), NodeJob(command(cluster.python, float(mark)), 600, fan=2))
    run.start()
    until(lambda: len(run.reported.hellos) == 2, "the beginning")
    run.halt.set()
    reported = run.ended()
    assert reported.states() == dict.fromkeys(["node1", "node2", "node3"], "not asked")
    assert len(reported.hellos) == 2, "the third waited for its turn"
    until(lambda: not processes(mark), "the end of what it started")
    assert processes("ray_driver.py") == []


def test_a_token_that_the_cluster_does_not_know(
    cluster: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has once started a Ray of his own has one, and with it hears nothing of an older cluster's workers."""
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("0123456789abcdef" * 4)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_MODE", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(cluster.folder))
    engine = Ray(python=cluster.python)  # Ray takes the token for a cluster that it found by itself
    run = Run(engine, list(engine.targets("node[0-1]")), NodeJob(command(cluster.python, 0), 60))
    run.start()
    assert sorted(run.ended().reports) == ["node0", "node1"]


@pytest.mark.parametrize("address", ["auto", "127.0.0.1:1"])
def test_no_cluster_is_one_sentence(address: str, python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudoctor.fleet.runner.engines.ray.JOIN", 20.0)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(EngineError) as raised:
        Ray(address=address, python=python).targets("")
    assert str(raised.value).startswith("Ray")
    assert "\n" not in str(raised.value)


def test_an_interpreter_without_ray_is_one_sentence() -> None:
    try:
        import ray  # noqa: F401
    except ImportError:
        with pytest.raises(EngineError, match=r"has no Ray .*pip install 'gpudoctor-cli\[ray\]'"):
            Ray().targets("")
    else:
        pytest.skip(f"{sys.executable} has Ray")


def test_the_nodes_are_told_as_ray_has_them(cluster: Running) -> None:
    """A GPU that Ray was told of is counted; one node's names are those of ray.nodes()."""
    code = "import json, ray; ray.init(address='auto', log_to_driver=False); print(json.dumps(ray.nodes()[0]))"
    env = {**os.environ, "RAY_ADDRESS": cluster.address}
    argv = [cluster.python, "-c", code]
    ended = subprocess.run(argv, env=env, cwd="/", capture_output=True, text=True, timeout=SECONDS, check=True)
    reported = json.loads(ended.stdout.splitlines()[-1])
    known = {"NodeID", "Alive", "NodeManagerHostname", "NodeManagerAddress", "NodeName", "Resources"}
    assert known <= set(reported), "the driver asks for these"
    assert {"DeathReason", "DeathReasonMessage"} <= set(reported)
