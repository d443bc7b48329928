"""What a cause is about on each of its nodes: which GPU, at which PCI address, and in which words of its report."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from gpudoctor.fleet.nodesets import fold, sortable
from gpudoctor.fleet.summary import AffectedTarget, NodeTargets
from gpudoctor.lazy_regex import pattern
from gpudoctor.report.model import FindingEntry, GpuEntry

# Different ones that are kept of a cause. Where there are more, such as a temperature on each of a thousand nodes, only
# the GPUs are kept, which are few on identical nodes; where those are as many too, nothing is.
DIFFERENT = 256
_GPU = pattern(r"\bGPU (\d{1,4})\b")
_ADDRESS = pattern(r"\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b", re.IGNORECASE)
_gpus = msgspec.json.Decoder(tuple[GpuEntry, ...]).decode

_Targets = tuple[AffectedTarget, ...]


def addresses_of(gpus: bytes, findings: Sequence[FindingEntry]) -> dict[int, str]:
    """The PCI addresses of a report's GPUs by their index; not read where no finding is about one.

    Args:
        gpus: as the report lists them for people, as JSON; what cannot be read has no addresses.
        findings: of the same report.
    """
    if not any(_GPU.search(one.subject) for one in findings):
        return {}
    try:
        return {one.index: one.address for one in _gpus(gpus) if one.address}
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}


class TargetGroups:
    """The nodes of a cause, by what it is about on them."""

    __slots__ = ("_groups", "_last", "_node", "_short")

    def __init__(self) -> None:
        self._groups: dict[_Targets, array[int]] | None = {}
        self._short = False  # without the reports' words
        self._node = -1
        self._last: _Targets = ()  # what it is about on that node

    def add(self, node: int, finding: FindingEntry, addresses: Mapping[int, str]) -> None:
        """Note a finding; those of a node come one after the other, in the order of its report."""
        if self._groups is None:
            return
        if node != self._node:
            self._close()
            self._node, self._last = node, ()
        if len(self._last) < DIFFERENT:
            self._last = (*self._last, _target(finding, addresses))

    def by_node(self, names: Sequence[str]) -> tuple[NodeTargets, ...]:
        """Each group, in the natural order of its first node; none: there are too many."""
        self._close()
        self._last = ()
        return in_order((targets, [names[node] for node in nodes]) for targets, nodes in (self._groups or {}).items())

    def _close(self) -> None:
        """Put the last node into its group."""
        if self._groups is None or not self._last:
            return
        self._put(_shortened(self._last) if self._short else self._last, array("I", [self._node]))
        if len(self._groups) > DIFFERENT and not self._short:
            self._short = True
            groups, self._groups = self._groups, {}
            for targets, nodes in groups.items():
                self._put(_shortened(targets), nodes)
        if len(self._groups) > DIFFERENT:
            self._groups = None

    def _put(self, targets: _Targets, nodes: array[int]) -> None:
        assert self._groups is not None  # noqa: S101 - said to mypy
        self._groups.setdefault(targets, array("I")).extend(nodes)


def in_order(groups: Iterable[tuple[_Targets, Sequence[str]]]) -> tuple[NodeTargets, ...]:
    """Groups of nodes with what a cause is about there, in the natural order of their first nodes."""
    found = [(min(map(sortable, nodes)), targets, nodes) for targets, nodes in groups if nodes]
    found.sort(key=lambda one: (one[0], str(one[1])))
    return tuple(NodeTargets(nodes=fold(nodes), count=len(nodes), targets=targets) for _, targets, nodes in found)


def _target(finding: FindingEntry, addresses: Mapping[int, str]) -> AffectedTarget:
    named, known = _GPU.search(finding.subject), _ADDRESS.search(finding.subject)
    address = known[0] if known else addresses.get(int(named[1]), "") if named else ""
    return AffectedTarget(subject=finding.subject, address=address, message=finding.message, evidence=finding.evidence)


def _shortened(targets: _Targets) -> _Targets:
    """The same without what the report says of them, each once."""
    return tuple(dict.fromkeys(AffectedTarget(subject=one.subject, address=one.address) for one in targets))
