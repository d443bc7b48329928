"""Findings of many nodes, put together by what they have in common: one cause, the nodes that have it, one example."""

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from gpudoctor.fleet.aggregate.targets import TargetGroups
from gpudoctor.fleet.nodesets import fold
from gpudoctor.fleet.summary import Cause, CauseVariant
from gpudoctor.registry import is_rule
from gpudoctor.report.model import FindingEntry, FixEntry

ORDER = ("fail", "warn", "advice")
# Different causes that are kept apart; a fleet has some dozens.
MOST = 2000
# And of those so many at most that one node brings: a report with thousands must not hide what the others have.
_OF_ONE = 200
# Sets of commands of one cause that are kept: a node has eight GPUs, or sixteen. Where there are more, each node has
# its own, such as a path in the home directory of a user, and only the example's are shown.
VARIANTS = 32
_VALUES = 8  # in the place of an expected one, with their nodes, which the evidence lists
_KEPT = 2 << 20  # bytes of findings of which it is known what they mean
_OWN = re.compile(r"\b(GPU|device|rank) \d+|\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b", re.IGNORECASE)
_NUMBERS = re.compile(r"\d+")
_findings = msgspec.json.Decoder(tuple[FindingEntry, ...]).decode


def parsed(data: bytes) -> tuple[FindingEntry, ...]:
    """The findings of a report.

    Raises:
        msgspec.MsgspecError: they are none.
    """
    return _findings(data)


class _Book:
    """What is known of one cause."""

    __slots__ = ("example", "finding", "nodes", "targets", "times", "values", "variants")

    def __init__(self, finding: FindingEntry, example: str) -> None:
        self.nodes = array("I")
        self.times = 0
        self.finding, self.example = finding, example
        self.variants: dict[tuple[object, ...], tuple[tuple[FixEntry, ...], array[int]]] = {}
        self.values: dict[str, array[int]] = {}  # what is found in the place of what is expected
        self.targets = TargetGroups()

    def add(self, node: int, finding: FindingEntry, addresses: Mapping[int, str]) -> None:
        """Note a node, what it is about there, and which commands it needs."""
        self.times += 1
        if not self.nodes or self.nodes[-1] != node:
            self.nodes.append(node)
        if finding.check:
            self.targets.add(node, finding, addresses)
        if is_rule(finding.check) and len(self.values) <= VARIANTS:
            self.values.setdefault(_rule(finding)[1], array("I")).append(node)
        if len(self.variants) > VARIANTS or not finding.fixes:
            return
        key = tuple((fix.message, fix.commands, fix.undo, fix.verify) for fix in finding.fixes)
        _, nodes = self.variants.setdefault(key, (finding.fixes, array("I")))
        if not nodes or nodes[-1] != node:
            nodes.append(node)


class Causes:
    """The causes of all nodes so far."""

    def __init__(self) -> None:
        self._books: dict[tuple[object, ...], _Book] = {}
        self._memo: dict[bytes, tuple[FindingEntry, ...]] = {}
        self._kept = 0

    def read(self, data: bytes) -> tuple[FindingEntry, ...]:
        """The findings of a report, parsed once where many say the same.

        Raises:
            msgspec.MsgspecError: they are none.
        """
        found = self._memo.get(data)
        if found is None:
            found = parsed(data)
            self._kept += 4 * len(data) + 200
            if self._kept > _KEPT:
                self._memo.clear()
                self._kept = 4 * len(data)
            self._memo[data] = found
        return found

    def add(
        self, node: int, name: str, findings: Iterable[FindingEntry], addresses: Mapping[int, str] | None = None
    ) -> None:
        """Note what a node has.

        Args:
            node: its number, larger than those before.
            name: its name.
            findings: of its report.
            addresses: of its GPUs on the PCI bus, by their index.
        """
        new = 0
        for finding in findings:
            key = _key(finding)
            book = self._books.get(key)
            if book is None:
                new += 1
                book = self._book(key, finding, name, new > _OF_ONE)
            known = bool(book.nodes) and book.nodes[-1] == node
            book.add(node, finding if book.finding.check else book.finding, addresses or {})
            if not known and name < book.example:  # whichever came first, the same one is shown
                book.finding, book.example = (finding if book.finding.check else book.finding), name

    def reported(self, names: Sequence[str]) -> tuple[Cause, ...]:
        """All causes, worst first, then those of most nodes; what is shown together comes after what has a name."""
        return ranked(_cause(book, names) for book in self._books.values())

    def _book(self, key: tuple[object, ...], finding: FindingEntry, name: str, together: bool) -> _Book:
        if together or len(self._books) >= MOST:
            key = (finding.status,)
            message = (
                f"More than {MOST:,} different causes, or more than {_OF_ONE} on a single node; the rest are combined "
                "here."
            )
            # Of many causes together one is no example: neither its words nor its fixes.
            finding = FindingEntry(
                check="", status=finding.status, subject="", title="Other findings", message="", cause=message
            )
        return self._books.setdefault(key, _Book(finding, name))


def ranked(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """Causes, worst first, then those of most nodes; what is shown together comes after what has a name."""
    return tuple(
        sorted(
            causes,
            key=lambda one: (_rank(one.status), not one.check, -one.count, one.check, one.title, one.cause, one.nodes),
        )
    )


def _key(finding: FindingEntry) -> tuple[object, ...]:
    """What tells causes apart: not what they are about, nor the numbers in their fixes."""
    fixes = tuple(_NUMBERS.sub("", fix.message) for fix in finding.fixes)
    return finding.check, finding.status, finding.title, _OWN.sub("", finding.cause), fixes


def _rank(status: str) -> int:
    return ORDER.index(status) if status in ORDER else len(ORDER)


def _cause(book: _Book, names: Sequence[str]) -> Cause:
    one = book.finding
    return Cause(
        check=one.check,
        status=one.status,
        title=one.title,
        cause=one.cause,
        message=one.message,
        evidence=_evidence(book, names),
        example=book.example,
        nodes=fold(names[node] for node in book.nodes),
        count=len(book.nodes),
        times=book.times,
        targets=book.targets.by_node(names),
        fixes=one.fixes,
        variants=_variants(book, names),
        run=one.run,
        references=one.references,
    )


def _evidence(book: _Book, names: Sequence[str]) -> tuple[str, ...]:
    """What was seen on the example; of an expectation, what was found on which nodes."""
    if not book.values or len(book.values) > VARIANTS:
        return book.finding.evidence
    found = sorted(((len(nodes), value, fold(names[node] for node in nodes))
                    for value, nodes in book.values.items()), key=lambda one: (-one[0], one[1]))  # fmt: skip
    more = [f"and {len(found) - _VALUES} more values"] if len(found) > _VALUES else []
    return (_rule(book.finding)[0], *(f"{value} on {nodes}" for _, value, nodes in found[:_VALUES]), *more)


def _rule(finding: FindingEntry) -> tuple[str, str]:
    """What an expectation expects, and what was found instead."""
    sentence = (*finding.evidence, finding.message)[0]  # the evidence has ours where the file has one of its own
    expected, _, found = sentence.removesuffix(".").partition(", found ")
    return expected, f"found {found or 'something else'}"


def _variants(book: _Book, names: Sequence[str]) -> tuple[CauseVariant, ...]:
    """The sets of commands, where nodes differ in them; of too many the example's alone."""
    if len(book.variants) < 2:
        return ()
    if len(book.variants) > VARIANTS:
        return (CauseVariant(nodes=fold([book.example]), count=1, fixes=book.finding.fixes),)
    found = [
        CauseVariant(nodes=fold(names[node] for node in nodes), count=len(nodes), fixes=fixes)
        for fixes, nodes in book.variants.values()
    ]
    return tuple(sorted(found, key=lambda one: (-one.count, one.nodes, str(one.fixes))))
