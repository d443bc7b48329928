"""Has neighbors sum with each other, through the engine that asked them, and keeps what each pair measured."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from threading import Event, Lock, Thread
from typing import NamedTuple

import msgspec

from gpudoctor.facts.facts_file import write
from gpudoctor.fleet.nodesets import natural
from gpudoctor.fleet.runner import protocol
from gpudoctor.fleet.runner.engine import Engine, FleetTarget, NodeJob, NodeLine, Over
from gpudoctor.fleet.runner.orchestrator import patiently
from gpudoctor.fleet.runner.pairs import SCHEMA, SIDE, PairGroup, PairLink, PairReport, link, plan, waves
from gpudoctor.fleet.runner.report_store import ENDING, file_name, node_name
from gpudoctor.fleet.runner.run_directory import REPORTS

PAIRS = "pairs"  # the directory, in that of the run
_MOST = 1000  # nodes at once: their names are one argument, of which Linux takes 128 KiB (MAX_ARG_STRLEN, execve(2))
_NONE = (msgspec.MsgspecError, ValueError, RecursionError)  # what JSON that is none of ours raises
_LOOK = 0.2  # seconds between two looks at whether somebody wants to stop


class How(NamedTuple):
    """How pairs are asked.

    Attributes:
        program: gpudoctor on a node, as an argument list.
        seconds: the limit of a pair.
        fan: nodes at once.
        gpus: whether the engine is asked for GPUs.
        again: whether pairs that have summed do so once more.
        more: further arguments of `fleet rank`.
    """

    program: tuple[str, ...]
    seconds: float
    fan: int
    gpus: bool = True
    again: bool = False
    more: tuple[str, ...] = ()


class _Card(msgspec.Struct):
    name: str | None = None


class _ReportHardware(msgspec.Struct):
    """Of a report, what says which nodes are alike."""

    gpus: tuple[_Card, ...] = ()


def groups(folder: str) -> list[PairGroup]:
    """The nodes that have reported, by their GPUs, neighbors next to each other.

    Args:
        folder: of the run.
    """
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    reports = os.path.join(folder, REPORTS)
    for name in os.listdir(reports) if os.path.isdir(reports) else ():
        node = node_name(name)
        if name.endswith(ENDING) and not set(node) & set(", \t\n"):
            try:
                with open(os.path.join(reports, name), "rb") as file:
                    head = msgspec.json.decode(file.read(), type=_ReportHardware)
            except (OSError, *_NONE):
                continue
            alike[tuple(card.name or "GPU" for card in head.gpus)].append(node)
    return [
        PairGroup(_hardware(cards), len(cards), tuple(sorted(nodes, key=natural))) for cards, nodes in alike.items()
    ]


def ask(
    engine: Engine, found: Sequence[PairGroup], how: How, folder: str, stop: Event, tell: Callable[[str], None],
    hurry: Event | None = None,
) -> int:  # fmt: skip
    """Have all pairs sum that have not yet; gives how many have landed, now or before.

    Args:
        engine: that reaches the nodes.
        found: the nodes.
        how: they are asked.
        folder: of the run; what a pair measured lands in pairs/ROUND-A-B.json.
        stop: ends it early.
        tell: told which round begins, as a text.
        hurry: set by the caller that does not want to wait for the engine's end either.

    Raises:
        EngineError: the engine cannot be used.
        OSError: something cannot be written.
    """
    place, landed = os.path.join(folder, PAIRS), 0
    os.makedirs(place, exist_ok=True)
    for group in found:
        rounds = plan(group.names)
        for number, pairs in enumerate(rounds, 1):
            left = [pair for pair in pairs if how.again or not _measured(place, number, pair)]
            landed += len(pairs) - len(left)
            for wave in waves(left, min(how.fan, _MOST)):
                if stop.is_set():
                    return landed
                tell(f"{group.hardware}: round {number} of {len(rounds)}, {landed} pairs finished")
                for one in _wave(engine, group, number, wave, how, stop, hurry):
                    write(os.path.join(place, _name(one.round, one.nodes)), msgspec.json.encode(one) + b"\n")
                    landed += 1
    return landed


def links(folder: str) -> Iterator[PairLink]:
    """What has landed; a file that is none of ours is left out.

    Args:
        folder: of the run.
    """
    place = os.path.join(folder, PAIRS)
    for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
        if name.endswith(ENDING) and (one := _read(os.path.join(place, name))):
            yield one


def _read(path: str) -> PairLink | None:
    try:
        with open(path, "rb") as file:
            one = msgspec.json.decode(file.read(), type=PairLink)
    except (OSError, *_NONE):
        return None
    return one if one.schema == SCHEMA else None


def _name(number: int, nodes: tuple[str, str]) -> str:
    stems = (file_name(node).removesuffix(ENDING).replace("-", "%2D") for node in nodes)
    return "-".join([str(number), *stems]) + ENDING


def _measured(place: str, number: int, nodes: tuple[str, str]) -> bool:
    """Whether a pair has summed in an earlier run; one that could not is asked again."""
    one = _read(os.path.join(place, _name(number, nodes)))
    return one is not None and not one.error


def _wave(
    engine: Engine, group: PairGroup, number: int, pairs: Sequence[tuple[str, str]], how: How, stop: Event,
    hurry: Event | None,
) -> list[PairLink]:  # fmt: skip
    """Let these pairs sum at once."""
    nodes = tuple(node for pair in pairs for node in pair)
    argv = (*how.program, "fleet", "rank", "--pairs", ",".join(nodes), "--gpus", str(group.gpus))
    argv += ("--timeout", f"{how.seconds:g}", *how.more)
    ear = _Ear(nodes)
    _run(engine, nodes, NodeJob(argv, how.seconds, len(nodes), how.gpus and group.gpus > 0), ear, stop, hurry)
    if stop.is_set():  # who was cut off has measured nothing
        pairs = [pair for pair in pairs if all(node in ear.sides for node in pair)]
    return [link(number, pair, group.hardware, ear.sides, ear.ends) for pair in pairs]


def _run(engine: Engine, nodes: Sequence[str], job: NodeJob, ear: "_Ear", stop: Event, hurry: Event | None) -> None:
    """The engine's run in a thread of its own, so that a signal is answered at once."""
    faults: list[BaseException] = []
    over = Event()

    def work() -> None:
        try:
            engine.run([FleetTarget(node=node) for node in nodes], job, ear.tell, stop)
        except Exception as fault:
            faults.append(fault)
        finally:
            over.set()

    Thread(target=work, daemon=True, name=f"pairs {engine.name}").start()
    try:
        while not over.wait(_LOOK) and not stop.is_set():
            pass
    except BaseException:
        stop.set()
        raise
    finally:
        if stop.is_set():
            patiently(over.wait, hurry)
    if faults:
        raise faults[0]


class _Ear:
    """What nodes send, and how they ended."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self.sides: dict[str, PairReport] = {}
        self.ends: dict[str, str] = {}
        self._lines, self._lock = protocol.Assembler(frozenset(nodes)), Lock()

    def tell(self, reported: NodeLine | Over) -> None:
        with self._lock:
            if isinstance(reported, Over):
                self.ends[reported.node] = reported.why
                return
            found = self._lines.feed(reported.text, reported.node)
            if isinstance(found, protocol.Landed):
                self._land(found)

    def _land(self, found: protocol.Landed) -> None:
        try:
            side = msgspec.json.decode(found.data, type=PairReport)
        except _NONE:
            return
        if side.schema == SIDE:
            self.sides[found.node] = side


def _hardware(cards: tuple[str, ...]) -> str:
    if not cards:
        return "no GPU"
    return f"{len(cards)} x {cards[0]}" if len(set(cards)) == 1 else f"{len(cards)} GPUs"
