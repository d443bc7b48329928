"""What an engine is: whatever starts a command on many machines and brings back what it wrote."""

from collections.abc import Callable, Iterable, Sequence
from threading import Event
from typing import NamedTuple, Protocol

import msgspec


class FleetTarget(msgspec.Struct, frozen=True, kw_only=True):
    """One machine that is to be checked.

    Attributes:
        node: its name, as the engine calls it.
        why_not: why it cannot be asked, in the engine's words; empty: it can be. Such a node is never started on.
        gpus: how many GPUs the engine says it has; None: the engine does not say.
        plain: whether the engine lists GPUs for other nodes and none for this one, which nobody named.
    """

    node: str
    why_not: str = ""
    gpus: int | None = None
    plain: bool = False


def passed_over(targets: Iterable[FleetTarget], gpus: bool) -> list[str]:
    """The nodes for which the engine lists no GPU and that nobody named, where the job is about GPUs."""
    return [one.node for one in targets if one.plain and gpus]


class NodeLine(NamedTuple):
    """A line of what a node wrote.

    Attributes:
        node: whose it is; the name that the line itself tells does not count then. Empty: the engine does not know, and
            that name counts: what `--name NODE` says, else what Slurm or the host calls itself there.
        text: the line, without its end.
    """

    node: str
    text: str


class Over(NamedTuple):
    """The engine is done with a node.

    Attributes:
        node: its name.
        state: one of gpudoctor.fleet.runner.ledger.STATES but "reported": how it would end without a report. Whether
            there is a report is for those who counts them to say, never for a launcher's exit code.
        why: one sentence, with the launcher's own words.
    """

    node: str
    state: str
    why: str


Tell = Callable[[NodeLine | Over], None]


class NodeJob(NamedTuple):
    """What runs on each node.

    Attributes:
        argv: the command, which ends by itself after `seconds`.
        seconds: the limit of one node; an engine gives up on a node a little later.
        fan: how many nodes at once.
        gpus: whether the engine is to be asked for all GPUs of a node.
    """

    argv: tuple[str, ...]
    seconds: float
    fan: int = 64
    gpus: bool = True


class EngineError(Exception):
    """The engine cannot be used at all: it is not installed, or does not respond. The message is one sentence."""


class Engine(Protocol):
    """An adapter; one file each in engines/."""

    @property
    def name(self) -> str:
        """As the user types it."""
        ...

    def targets(self, request: str) -> Sequence[FleetTarget]:
        """The nodes that a node set means (empty: all that the engine knows), and which cannot be asked.

        Raises:
            EngineError: the engine does not respond, or the wish means nothing to it.
        """

    def run(self, targets: Sequence[FleetTarget], job: NodeJob, tell: Tell, stop: Event) -> None:
        """Start the command once on every target, never again; tell every line, and one Over for each node.

        `tell` may be called from any thread. Returns when all are over, or soon after `stop` is set; then nothing that
        it started runs any more.

        Raises:
            EngineError: the engine cannot be used.
        """


class ShownEngine(Engine, Protocol):
    """An engine that can show what it would start; all that users choose from are such."""

    def shown(self, target: FleetTarget, job: NodeJob) -> str:
        """What would be started for a node, as it would be typed; nothing is started. `targets` was called before.

        Raises:
            EngineError: the engine cannot be used.
        """
