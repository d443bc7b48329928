"""ssh to every node, by ClusterShell: node sets, groups, and a tree of gateways for thousands of nodes."""

import math
import shlex
import shutil
import time
from collections.abc import Sequence
from threading import Event
from typing import TYPE_CHECKING, Any

from gpudoctor.extras import install_command
from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, Over, Tell
from gpudoctor.fleet.runner.engines.node_selection import named

if TYPE_CHECKING:
    from gpudoctor.fleet.runner.engines.ssh_clients import Ear

# Before the user's configuration and after the options that were asked for, since ssh takes what it is told first:
OPTIONS = (
    "-oLogLevel=INFO",  # quieter, ssh does not say why it failed
    "-oServerAliveInterval=15",  # a link that is cut is noticed within a minute, not when the node's limit is reached
    "-oServerAliveCountMax=3",
    "-oControlMaster=no",  # a shared connection would stay behind, and hold our end of standard error open
)
_SAMPLES = "example"  # how the nodes begin that ClusterShell's own groups.d/local.cfg names
_LOOK = 0.2  # seconds between two looks at `stop`
_GRACE = 10.0  # seconds for a node that ends by itself to say so
_OURS = 100  # descriptors that are not ssh's
_EACH = 3  # descriptors of one ssh: the three streams


class ClusterShell:
    """Runs a command on nodes by ssh. Nothing is written there, and no password is asked for.

    Whose key fits, which names mean what and which hosts are known is said by the user's ssh configuration, which also
    names jump hosts. Where ClusterShell has a topology.conf of its own, or is given one, ssh goes through the gateways
    that it names; each needs ClusterShell and keys for those behind it.

    Args:
        options: more options of ssh, as its arguments: ("-F", "cluster.conf"). They win over ours.
        user: who to be there; empty: whom ssh's configuration says.
        connect: seconds for the connection.
        topology: the file of a tree, as ClusterShell describes it; empty: its own topology.conf, if there is one.

    Raises:
        EngineError: ClusterShell is not installed.
    """

    name = "ssh"

    def __init__(self, options: Sequence[str] = (), user: str = "", connect: float = 10.0, topology: str = "") -> None:
        try:
            import ClusterShell  # noqa: F401
        except ImportError:
            raise EngineError(f"ssh to many nodes needs ClusterShell: {install_command('fleet')}.") from None
        self._options, self._user, self._connect, self._topology = tuple(options), user, connect, topology

    def targets(self, request: str) -> Sequence[FleetTarget]:
        """The nodes of a node set; ClusterShell's groups are meant by @GROUP, all of them by @*.

        Raises:
            EngineError: it is empty, for ssh knows no list of nodes, or no node set.
        """
        if not request.strip():
            raise EngineError("ssh has no list of nodes: name them (node[01-16]) or a ClusterShell group (@gpu).")
        names = named(request)
        _refuse_odd(names)
        if "@" in request and all(name.startswith(_SAMPLES) for name in names):
            raise EngineError(
                f'"{request}" is a group of ClusterShell\'s samples ({_few(names)}): name the nodes, or define '
                "your groups in groups.d/local.cfg (`nodeset -l` lists them)."
            )
        return [FleetTarget(node=name) for name in names]

    def run(self, targets: Sequence[FleetTarget], job: NodeJob, tell: Tell, stop: Event) -> None:
        """Run the command on every target; ClusterShell's loop runs in this thread.

        Raises:
            EngineError: there is no ssh, or the topology is none.
        """
        from gpudoctor.fleet.runner.engines.ssh_clients import Ear

        if not shutil.which("ssh"):
            raise EngineError("ssh is not installed: install the OpenSSH client.")
        names = [target.node for target in targets if not target.why_not]
        _refuse_odd(names)
        limit = job.seconds + self._connect + _GRACE
        ear = Ear(names, tell, stop, limit, job.seconds)
        for target in targets:
            if target.why_not:
                tell(Over(target.node, "not asked", target.why_not))
        if names and not stop.is_set():
            self._conduct(ear, names, job, limit)
        for node in tuple(ear.left):
            if stop.is_set():
                ear.over(node, "not asked", "The run was stopped first.")
            elif time.monotonic() > ear.ends:
                ear.late(node)
            else:  # ClusterShell before 1.10 tells no more of nodes behind it
                ear.over(node, "unreachable", "The connection to the gateway was lost.")

    def shown(self, target: FleetTarget, job: NodeJob) -> str:
        """The ssh of a node, as ClusterShell makes it."""
        from ClusterShell.Task import task_self

        from gpudoctor.fleet.runner.engines.ssh_clients import command_line

        task = task_self()
        try:
            self._set(task, _fan(job.fan))
            found = shlex.join(command_line(task, target.node, _command(job.argv)))
        finally:
            task.abort(kill=True)  # this thread's next task starts afresh
        return f"{found}\n(through the gateways of {self._topology})" if self._topology else found

    def _conduct(self, ear: "Ear", names: Sequence[str], job: NodeJob, limit: float) -> None:
        """Run ClusterShell's loop until all are over, `tell` fails, or it is time to stop."""
        from ClusterShell.NodeSet import NodeSet
        from ClusterShell.Task import task_self
        from ClusterShell.Topology import TopologyError

        fan = _fan(job.fan)
        task = task_self()
        try:
            self._set(task, fan)
            if self._topology:
                task.load_topology(self._topology)
            # A tree may wait for a gateway for ever, so the whole has an end of its own: if one node after another
            # used up its limit behind a single gateway, and one more for the way there.
            ear.ends = time.monotonic() + limit * (math.ceil(len(names) / fan) + 1)
            task.timer(_LOOK, ear, interval=_LOOK, autoclose=True)
            task.shell(_command(job.argv), nodes=NodeSet.fromlist(names), handler=ear, timeout=limit, stderr=True,
                       stdin=False)  # fmt: skip
            task.resume()
        except TopologyError as error:
            raise EngineError(f"The tree of gateways cannot be used: {error}.") from None
        except OSError as error:
            if error is ear.fault:
                raise
            raise EngineError(f"ssh cannot be started: {error.strerror or error}.") from None
        finally:
            task.abort(kill=True)  # this thread's next task starts afresh

    def _set(self, task: Any, fan: int) -> None:
        from gpudoctor.fleet.runner.engines.ssh_clients import Worker

        task.set_default("distant_worker", Worker)
        for stream in ("stdout_msgtree", "stderr_msgtree"):  # they would keep every line until the end
            task.set_default(stream, False)
        task.set_info("fanout", fan)
        task.set_info("connect_timeout", self._connect)
        task.set_info("ssh_options", shlex.join((*self._options, *OPTIONS)))
        task.set_info("ssh_user", self._user)


def _command(argv: Sequence[str]) -> str:
    """One text for the shell of the node; `%hosts` in it would be ClusterShell's sign for all nodes at once."""
    return shlex.join(argv).replace("%hosts", "%''hosts").replace("%{hosts}", "%''{hosts}")


def _few(names: Sequence[str]) -> str:
    from gpudoctor.fleet.aggregate.nodeset_expansion import shortened
    from gpudoctor.fleet.nodesets import fold

    return shortened(fold(names), 60)


def _refuse_odd(names: Sequence[str]) -> None:
    for name in names:
        if name.startswith("-"):
            raise EngineError(f'"{name}" is not a node name: ssh would take it as an option.')
        if len(name.split()) != 1:
            raise EngineError(f'"{name}" is not a node name: commas separate names.')


def _fan(requested: int) -> int:
    """As many at once as were wished for, or as there are descriptors for."""
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    room = requested if most == resource.RLIM_INFINITY else (most - _OURS) // _EACH
    return max(1, min(requested, room))
