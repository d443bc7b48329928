"""What of all the list shows: by text, status and area, folded or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from gpudoctor.tui.diagnosis.items import FINDINGS, GROUPS, OTHERS, Item, ItemGroup


class FindingFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants to see.

    Attributes:
        text: that has to occur, whatever its case; empty: anything.
        status: the only one that is shown; empty: each.
        area: the only one that is shown; empty: each.
        others: whether the checks that found nothing are shown too.
        unfolded: keys of the findings whose consequences are shown.
    """

    text: str = ""
    status: str = ""
    area: str = ""
    others: bool = False
    unfolded: frozenset[str] = frozenset()

    @property
    def narrowed(self) -> bool:
        """Whether anything is held back by a filter."""
        return bool(self.text or self.status or self.area)

    def toggled(self, key: str) -> FindingFilter:
        """The view with one finding folded that was unfolded, or the other way."""
        return msgspec.structs.replace(self, unfolded=self.unfolded ^ {key})


class Heading(msgspec.Struct, frozen=True):
    """A line between two kinds of items."""

    title: str


Row = Item | Heading


def rows(groups: Sequence[ItemGroup], view: FindingFilter) -> list[Row]:
    """The lines to show."""
    shown: list[Row] = []
    last = ""
    for group in groups:
        kind = group.root.status
        if kind in OTHERS and not view.others:
            continue
        lines = list(_lines(group, view))
        if lines and kind in OTHERS and kind != last:
            shown.append(Heading(f"{GROUPS[kind]} ({_count(groups, kind, view)})"))
            last = kind
        shown += lines
    return shown


def _count(groups: Sequence[ItemGroup], kind: str, view: FindingFilter) -> int:
    return sum(group.root.status == kind and _fits(group.root, view) for group in groups)


def _lines(group: ItemGroup, view: FindingFilter) -> Iterator[Item]:
    """The root, where it or what follows from it fits, and the consequences that are unfolded or searched for."""
    fits = _fits(group.root, view)
    below = [one for one in group.consequences if _fits(one, view)]
    if not fits and not below:
        return
    yield group.root
    if group.root.key in view.unfolded:
        yield from group.consequences
    elif not fits:
        yield from below


def _fits(item: Item, view: FindingFilter) -> bool:
    if (view.status and item.status != view.status) or (view.area and item.area != view.area):
        return False
    return not view.text or view.text.casefold() in _words(item)


def _words(item: Item) -> str:
    """All that is searched."""
    parts = [item.title, item.check, item.subject, item.message]
    if item.finding and not item.follows:
        finding = item.finding
        fixes = [text for fix in finding.fixes for text in (fix.message, *fix.commands)]
        parts += [finding.message, finding.cause, *finding.evidence, *fixes]
    return "\n".join(parts).casefold()


def next_status(groups: Sequence[ItemGroup], view: FindingFilter) -> str:
    """The status that the key for it chooses next; empty: each."""
    there = {item.status for item in _reachable(groups, view)}
    return _next([status for status in (*FINDINGS, *OTHERS) if status in there], view.status)


def next_area(groups: Sequence[ItemGroup], view: FindingFilter) -> str:
    """The area that the key for it chooses next; empty: each."""
    return _next(list(dict.fromkeys(item.area for item in _reachable(groups, view))), view.area)


def _reachable(groups: Sequence[ItemGroup], view: FindingFilter) -> Iterator[Item]:
    for group in groups:
        if view.others or group.root.status in FINDINGS:
            yield group.root
            yield from group.consequences


def _next(choices: list[str], now: str) -> str:
    if now not in choices:
        return choices[0] if choices and not now else ""
    following = choices.index(now) + 1
    return choices[following] if following < len(choices) else ""
