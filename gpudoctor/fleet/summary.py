"""The summary of a fleet, which every face tells (`gpudoctor.fleet/1`)."""

import msgspec

from gpudoctor.facts.text_types import Count, Number
from gpudoctor.report.model import FixEntry

SCHEMA = "gpudoctor.fleet/1"
# Of a node that reported, the report's own status; of the others, what the ledger says. Worst first.
STATES = (
    "fail",
    "incomplete",
    "failed",
    "timed out",
    "unreachable",
    "refused",
    "not asked",
    "unreadable",
    "stale",  # its newest report is too old to show how it is
    "no-gpu",
    "warn",
    "cpu-only",  # it has no GPU and no node like it has one: a login node, a CPU partition
    "pass",
)
REPORTED = ("fail", "incomplete", "no-gpu", "warn", "cpu-only", "pass")  # by nodes; of others nobody knows
JUDGED = ("fail", "no-gpu", "warn", "cpu-only", "pass")  # and known to be so


class CauseVariant(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of a cause that need the same commands: GPU 2 on these, GPU 5 on those."""

    nodes: str
    count: Count
    fixes: tuple[FixEntry, ...]


class AffectedTarget(msgspec.Struct, frozen=True, kw_only=True):
    """What one finding of a node is about, and what its report says of it."""

    subject: str  # GPU 4
    address: str = ""  # of that GPU on the PCI bus; empty: it is about no GPU, or nobody knows
    message: str = ""
    evidence: tuple[str, ...] = ()


class NodeTargets(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes on which a cause is about the same: GPU 4 on these, GPU 2 on those."""

    nodes: str
    count: Count
    targets: tuple[AffectedTarget, ...]


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One root cause on all nodes that have it."""

    check: str
    status: str  # fail, warn, advice
    title: str
    cause: str
    message: str  # of one of the nodes, as an example
    example: str  # that node
    nodes: str  # folded: node[001-128,140]
    count: Count  # nodes
    times: Count = 0  # findings: several GPUs of a node may have it
    evidence: tuple[str, ...] = ()  # of the example
    targets: tuple[NodeTargets, ...] = ()  # in the order of their nodes; none: too many different ones
    fixes: tuple[FixEntry, ...] = ()  # of the example
    variants: tuple[CauseVariant, ...] = ()  # of most nodes first; none: the fixes are the same on all of them
    run: str = ""  # the command of ours that carries one of them out, on the node
    references: tuple[str, ...] = ()


class Departure(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes whose fact is another than most others' of their group."""

    value: str
    nodes: str
    count: Count


class HardwareGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of like hardware."""

    hardware: str  # "8 x NVIDIA H100 80GB HBM3"
    nodes: str
    count: Count
    facts: dict[str, str] = {}  # what more than half of those have of whom it is known
    fewer: tuple[Departure, ...] = ()  # those of its nodes that have lost GPUs, and what they have


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """A fact on which a group of like hardware does not agree."""

    hardware: str
    fact: str  # its path: nvidia.kernel.loaded, gpus.*.vbios, packages.torch
    majority: str  # the value that most have; empty: no value has a majority
    count: Count  # nodes that have it
    known: Count  # nodes of which the fact is known
    departures: tuple[Departure, ...]  # of most nodes first; none: too varied, nearly every node has a value of its own
    values: Count = 0  # different ones that there are


class Outlier(msgspec.Struct, frozen=True, kw_only=True):
    """A measured value that is an outlier from those of like hardware."""

    node: str
    device: str  # GPU 3
    value: Number
    deviations: Number  # from the median, in robust standard deviations; below: negative


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """A measured value over all devices of a group."""

    hardware: str
    figure: str  # pytorch.transfer.h2d pinned
    unit: str
    count: Count  # values
    least: Number
    low: Number  # 5 % are below it
    median: Number
    high: Number  # 95 % are below it
    most: Number
    deviation: Number  # robust standard deviation: 1.4826 times the median absolute deviation
    outliers: tuple[Outlier, ...] = ()
    more: Count = 0  # outliers that are not listed


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is otherwise than in an earlier summary."""

    kind: str  # worse, better, appeared, vanished, cause, solved, fact, figure
    message: str
    nodes: str = ""
    count: Count = 0


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes without a verdict, for the same reason: no report, an old one, or one that is incomplete."""

    state: str
    why: str
    nodes: str
    count: Count


class Uncompared(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of which nobody can say whether a GPU is missing, for lack of enough identical nodes that agree."""

    nodes: str
    count: Count


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer."""

    schema: str = SCHEMA
    version: str = ""
    created: str = ""
    total: Count = 0  # nodes, with those that did not report
    states: dict[str, str] = {}  # state: the nodes in it, folded; in the order of STATES
    counts: dict[str, Count] = {}  # state: how many
    causes: tuple[Cause, ...] = ()  # worst first, then by how many nodes have them
    missing: tuple[Missing, ...] = ()
    groups: tuple[HardwareGroup, ...] = ()
    uncompared: Uncompared | None = None
    drifts: tuple[Drift, ...] = ()
    spreads: tuple[Spread, ...] = ()
    changes: tuple[Change, ...] = ()
    since: str = ""  # when the earlier summary was made that `changes` speak of
    oldest: str = ""  # when the oldest report was made
    newest: str = ""
    next: tuple[str, ...] = ()  # what to look at, what to type
