"""Ray: one task pinned to every node of a cluster, without retries.

A task asks for no CPU and no GPU, so that a node whose jobs hold all of them is checked next to them, and the run does
not wait for them. Nothing keeps such a task from the GPUs but a variable: Ray hides them from one that asked for none
by an empty CUDA_VISIBLE_DEVICES. That was its default until it changed in 2026 (ray-project/ray, pull request 62492),
and is still so with RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=1. So the command gets the value that the node's raylet was
started with, for this variable and the others that Ray sets (workers/ray_task.py names them);
RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES need not be set anywhere.
"""

import os
import shlex
import sys
import time
from collections.abc import Sequence
from threading import Event

import msgspec

from gpudoctor import child, workers
from gpudoctor.child import ChildResult
from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, NodeLine, Over, Tell
from gpudoctor.fleet.runner.engines.node_selection import named as named_by
from gpudoctor.fleet.runner.engines.ray_nodes import RayNode, named, requested, targets

DRIVER = workers.script("ray_driver.py")
JOIN = 60.0  # seconds for Ray to answer; a driver that cannot reach the cluster gives up by itself after about as many
START = 90.0  # seconds for a node to begin; Ray itself gives up on a worker that does not register within 60
GRACE = 5.0  # seconds after its own limit in which the command may end by itself
SLACK = GRACE + 15.0  # seconds after which the task too is given up: what ends a command takes four of them
TIDY = 5.0  # seconds between asking the driver to end and killing it: it ends the tasks first


class RayLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the driver's; workers/ray_driver.py says which there are."""

    error: tuple[str, str] | None = None
    nodes: list[RayNode] | None = None
    connected: bool = False
    node: str = ""
    text: str | None = None
    over: tuple[str, str] | None = None


class Ray:
    """The engine.

    Args:
        address: of the cluster, as ray.init takes it; "auto" takes RAY_ADDRESS, or the cluster that this machine is in.
        python: the interpreter that joins the cluster; empty: this one. Ray demands that its release of Python and of
            Ray are the cluster's own. gpudoctor need not be installed there.
    """

    name = "ray"

    def __init__(self, address: str = "auto", python: str = "") -> None:
        self._address, self._python = address, python or sys.executable
        self._nodes: list[RayNode] = []
        self._env: dict[str, str] | None = None

    def targets(self, request: str) -> Sequence[FleetTarget]:
        """The nodes of the cluster; a wish names some, by name, host, address or Ray's id.

        Raises:
            EngineError: Ray is not installed, does not respond, or the wish is no set of nodes.
        """
        names = named_by(request)
        self._ask()
        return requested(self._nodes, names) if names else targets(self._nodes)

    def run(self, targets: Sequence[FleetTarget], job: NodeJob, tell: Tell, stop: Event) -> None:
        """Start the command once on every target.

        Raises:
            EngineError: Ray is not installed, or does not respond.
        """
        if not self._nodes:
            self._ask()
        round_ = _Round(named(self._nodes), targets, tell)
        if round_.ids and not stop.is_set():
            fan = max(1, job.fan)
            limits = {"seconds": job.seconds, "grace": GRACE, "start": START, "slack": SLACK}
            asked = {"argv": job.argv, "nodes": list(round_.ids), "fan": fan, **limits}
            waves = -(-len(round_.ids) // fan)
            whole = JOIN + waves * (START + job.seconds + SLACK)
            ended = self._drive(asked, round_, whole, stop)
            if not round_.connected and not stop.is_set():
                raise EngineError(self._why(round_, ended))
            round_.leave(stop.is_set(), ended)
        round_.leave(stop.is_set(), None)

    def shown(self, target: FleetTarget, job: NodeJob) -> str:
        """The command of a node's task; Ray's own command line starts no task on a chosen node."""
        node = next((one.id for name, one in named(self._nodes).items() if name == target.node), "")
        pinned = f"# Ray task on node {node}: num_cpus=0, num_gpus=0, max_retries=0"
        return f"{pinned}, started by {shlex.join((self._python, DRIVER))}\n{shlex.join(job.argv)}"

    def _ask(self) -> None:
        reported = _Round({}, (), lambda _: None)
        ended = self._drive({}, reported, JOIN, Event())
        if reported.error and reported.error[0] == "auth":  # a token that the cluster does not know: without it, then
            self._env = {**os.environ, "RAY_AUTH_MODE": "disabled"}
            reported = _Round({}, (), lambda _: None)
            ended = self._drive({}, reported, JOIN, Event())
        if reported.nodes is None:
            raise EngineError(self._why(reported, ended))
        self._nodes = reported.nodes

    def _drive(self, asked: dict[str, object], round_: "_Round", limit: float, stop: Event) -> ChildResult:
        if self._address.startswith("ray://"):
            raise EngineError(
                "ray:// cannot return what a task writes: run this on a machine of the cluster, or with `ray job "
                "submit`."
            )
        data = msgspec.json.encode({"address": self._address, **asked})
        joined_by = time.monotonic() + JOIN

        def late() -> bool:
            return stop.is_set() or not (round_.connected or time.monotonic() < joined_by)

        argv = (self._python, DRIVER)
        return child.run(argv, timeout=limit, stdin=data, env=self._env, grace=TIDY, on_line=round_.line, late=late)

    def _why(self, reported: "_Round", ended: ChildResult) -> str:
        """One sentence: why Ray cannot be used."""
        if reported.error and reported.error[0] == "import":
            return (
                f"{self._python} has no Ray ({reported.error[1]}): `pip install 'gpudoctor-cli[ray]'` installs it; Ray "
                "and Python must have the same versions as on the cluster."
            )
        if reported.error:
            return f"Ray: {reported.error[1].rstrip('.')}."
        if ended.missing:
            return f"{self._python} cannot be started: {ended.missing}."
        if ended.timed_out:
            return f"Ray did not respond within {JOIN:.0f} s at {self._address}{_last(ended)}."
        return f"Ray's driver ended{_how(ended)} before it connected{_last(ended)}."


class _Round:
    """What the driver told of the nodes so far."""

    def __init__(self, known: dict[str, RayNode], wanted: Sequence[FleetTarget], tell: Tell) -> None:
        self._tell = tell
        self.ids = {known[t.node].id: t.node for t in wanted if t.node in known and not t.why_not}
        self._left = {t.node: t.why_not or ("" if t.node in known else _UNKNOWN) for t in wanted}
        self.nodes: list[RayNode] | None = None
        self.error: tuple[str, str] | None = None
        self.connected = False
        self._began: set[str] = set()

    def line(self, text: str) -> None:
        """Take a line of the driver's."""
        try:
            reported = msgspec.json.decode(text, type=RayLine)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return
        self.error = reported.error or self.error
        self.nodes = reported.nodes if reported.nodes is not None else self.nodes
        self.connected = self.connected or reported.connected
        node = self.ids.get(reported.node)
        if node and reported.text is not None:
            self._began.add(node)
            self._tell(NodeLine(node, reported.text))
        if node and reported.over:
            self._over(node, *reported.over)

    def leave(self, stopped: bool, ended: ChildResult | None) -> None:
        """Account for the nodes of which the driver said nothing at last."""
        for node, why_not in list(self._left.items()):
            if why_not:
                self._over(node, "not asked", why_not)
            elif stopped:
                self._over(node, "not asked", "The run was stopped before it responded.")
            elif ended is not None:
                state = "unreachable" if node in self._began else "not asked"
                self._over(node, state, f"Ray's driver ended{_how(ended)} before it responded{_last(ended)}.")

    def _over(self, node: str, state: str, why: str) -> None:
        if self._left.pop(node, None) is not None:
            self._tell(Over(node, state, why))


_UNKNOWN = "Ray has no node with this name."


def _how(ended: ChildResult) -> str:
    if ended.timed_out:
        return " because it took too long"
    return f" by {ended.signal}" if ended.signal else f" with {ended.code}" if ended.code else ""


def _last(ended: ChildResult) -> str:
    words = [line.strip() for line in ended.err.splitlines() if line.strip()]
    return f": {words[-1][:300].rstrip('.')}" if words else ""
