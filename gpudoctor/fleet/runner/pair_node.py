"""One side of a pair: finds out which node this is, and lets its ranks sum with those of its neighbor."""

import json
import os
import socket
import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import msgspec

from gpudoctor import workers
from gpudoctor.child import ChildResult
from gpudoctor.fleet.runner import protocol
from gpudoctor.fleet.runner.node import REST, own_name
from gpudoctor.fleet.runner.pairs import PairReport, Size
from gpudoctor.machine import Machine
from gpudoctor.workers.smoke.backends.pytorch.rank import PREFIX
from gpudoctor.workers.smoke.tests.allreduce import bus_rate

RANK = workers.script("smoke", "backends", "pytorch", "rank.py")
MIB = 1 << 20
# 256 MiB reach nine tenths of what 16 GiB reach (stas00/ml-engineering, network/benchmarks); small sums show latency.
ON_GPUS, ON_CPU = (MIB, 16 * MIB, 256 * MIB), (MIB // 16, MIB, 4 * MIB)
JOINING = 60.0  # seconds for which a side waits for the other: engines do not begin everywhere at once
ASKED = 64  # names of which it is asked whether they are this machine's
SIOCGIFADDR = 0x8915  # the address of an interface: linux/sockios.h


class PairTask(NamedTuple):
    """What is asked of all nodes of a round alike.

    Attributes:
        nodes: the pairs behind each other: the first and the second are one, the third and the fourth ...
        gpus: of each node; 0: the CPUs sum, two processes in all.
        port: on which the first of a pair meets the second.
        seconds: the limit.
        python: the interpreter whose PyTorch sums; empty: the one that `check` would examine.
    """

    nodes: tuple[str, ...]
    gpus: int
    port: int
    seconds: float
    python: str = ""


class PairError(Exception):
    """This node cannot take part; the message is one sentence."""


def answer(task: PairTask, name: str, write: Callable[[str], None]) -> None:
    """Sum with the neighbor, and send what was measured, or why nothing was.

    Args:
        task: what is asked.
        name: of this node, as the launcher gave it; may be empty.
        write: takes each line.

    Raises:
        PairError: this node is none of the task's.
    """
    at = place(task.nodes, (name, own_name(os.environ), os.uname().nodename), mine)
    node = task.nodes[at]
    write(protocol.hello(node))
    try:
        side = _summed(task, at)
    except PairError as error:
        side = PairReport(node=node, error=str(error))
    for line in protocol.lines(node, msgspec.json.encode(side)):
        write(line)


def place(nodes: Sequence[str], names: Iterable[str], mine: Callable[[str], bool]) -> int:
    """Where this node stands among them.

    Args:
        nodes: their names.
        names: that this node may have, the surest first.
        mine: whether a name leads to this machine; asked where none of the names is among theirs.

    Raises:
        PairError: it is none of them, or a pair lacks a node.
    """
    short = {node.partition(".")[0]: at for at, node in enumerate(nodes)}
    known = [name for name in names if name]
    found = [nodes.index(name) for name in known if name in nodes]
    found += [short[name.partition(".")[0]] for name in known if name.partition(".")[0] in short]
    found = found[:1] or [at for at, node in enumerate(nodes[:ASKED]) if mine(node)][:1]
    if not found or (found[0] ^ 1) >= len(nodes):
        raise PairError("This node is not one of the pair: its name and addresses do not match.")
    return found[0]


def mine(name: str) -> bool:
    """Whether a name or an address leads to this machine."""
    return any(_is_ours(family, address[0]) for family, address in _addresses(name))


def _addresses(name: str) -> list[tuple[int, Any]]:
    try:
        return [(int(one[0]), one[4]) for one in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
    except (OSError, UnicodeError):
        return []


def _is_ours(family: int, address: str) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as one:
        try:
            one.bind((address, 0))
        except OSError:  # an address of another machine
            return False
    return True


def _summed(task: PairTask, at: int) -> PairReport:
    """Let the ranks of this node sum.

    Raises:
        PairError: the neighbor's name means nothing here.
    """
    peer = task.nodes[at ^ 1]
    if not (addresses := _addresses(peer)):
        raise PairError(
            f"The name {peer} does not resolve here: the nodes of a pair must be able to resolve each other's names."
        )
    machine = Machine(seconds=task.seconds)
    count, sizes = max(1, task.gpus), ON_GPUS if task.gpus else ON_CPU
    library, limit = "nccl" if task.gpus else "gloo", task.seconds - min(REST, 0.4 * task.seconds)
    shared = {
        "ranks": 2 * count, "library": library, "bytes": sizes[-1], "sizes": sizes, "port": task.port,
        "host": peer if at % 2 else "127.0.0.1", "seconds": min(JOINING, limit / 2),
    }  # fmt: skip
    tasks = [{**shared, "rank": at % 2 * count + device, "device": device} for device in range(count)]
    ended = _run(machine, task, tasks, limit, _interface(addresses[0]))
    return side(task.nodes[at], library, 2 * count, sizes, ended)


def _run(
    machine: Machine, task: PairTask, tasks: Sequence[dict[str, Any]], seconds: float, interface: str
) -> list[tuple[int, ChildResult]]:
    from gpudoctor.probes.python import choice
    from gpudoctor.probes.python.interpreter import child_environment
    from gpudoctor.probes.temp_home import spare_home

    try:
        python = choice.choose(machine, (task.python,) if task.python else ())[0][0]
    except choice.InterpreterError as error:
        raise PairError(str(error)) from None
    defaults = {"NCCL_DEBUG": "WARN", **({"GLOO_SOCKET_IFNAME": interface} if interface else {})}
    with spare_home(defaults | child_environment(machine)) as env, ThreadPoolExecutor(len(tasks)) as pool:

        def one(rank: dict[str, Any]) -> tuple[int, ChildResult]:
            return rank["rank"], machine.run([python, RANK, json.dumps(rank)], seconds, env, patient=True)

        return list(pool.map(one, tasks))


def side(
    node: str, library: str, ranks: int, sizes: Sequence[int], ended: Sequence[tuple[int, ChildResult]]
) -> PairReport:
    """What the ranks of this node told.

    Args:
        node: this one.
        library: with which they summed.
        ranks: of both nodes.
        sizes: in bytes.
        ended: each rank's number and process.
    """
    reported = [(number, _told(one), one) for number, one in ended]
    if errors := [f"rank {number} {_how(said, one)}" for number, said, one in reported if "each" not in said]:
        return PairReport(node=node, library=library, ranks=ranks, error=" | ".join(errors)[:2000])
    measured = []
    for at, size in enumerate(sizes):
        slowest = sorted(max(times) for times in zip(*(said["each"][at] for _, said, _ in reported), strict=True))
        seconds = slowest[len(slowest) // 2]
        measured.append(Size(bytes=size, seconds=seconds, rate=bus_rate(size, seconds, ranks)))
    wrong = sum(said["wrong"] for _, said, _ in reported)
    return PairReport(node=node, library=library, ranks=ranks, sizes=tuple(measured), wrong=wrong)


def _told(ended: ChildResult) -> dict[str, Any]:
    lines = [line for line in ended.out.splitlines() if line.startswith(PREFIX)]
    try:
        said = json.loads(lines[-1][len(PREFIX) :]) if lines else {}
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _how(said: dict[str, Any], ended: ChildResult) -> str:
    """How a rank failed: in its words, NCCL's warnings, or the last lines that it wrote."""
    if "error" in said:
        how = f"failed: {str(said['error']).strip()}"
    elif ended.timed_out:
        how = f"did not finish within {ended.seconds:.0f} s"
    else:
        how = f"could not be started: {ended.missing}" if ended.missing else f"ended with {ended.signal or ended.code}"
    lines = [line.strip() for line in f"{ended.out}\n{ended.err}".splitlines() if line.strip()]
    warned = [line for line in lines if "NCCL WARN" in line]
    last = warned[:3] or ([] if "error" in said else lines[-1:])
    return "; ".join([how, *last])


def _interface(address: tuple[int, Any]) -> str:
    """The interface that leads to an address: Gloo would take that of the host's own name, often the loopback one."""
    if sys.platform != "linux" or address[0] != socket.AF_INET:
        return ""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:  # sends nothing
        try:
            one.connect((address[1][0], 9))
        except OSError:
            return ""
        ours = socket.inet_aton(one.getsockname()[0])
        for _, name in socket.if_nameindex():
            try:
                found = fcntl.ioctl(one.fileno(), SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:  # it has no address
                continue
            if found[20:24] == ours:
                return name
    return ""
