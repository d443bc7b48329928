"""The smoke tests: a line a figure, with a bar against what this device can reach at most."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.report.model import SmokeEntry
from gpudoctor.report.renderers.svg import box, escaped
from gpudoctor.report.smoke_rows import SmokeRow, remarks, table_rows, title


def bars(entries: tuple[SmokeEntry, ...]) -> Iterator[str]:
    """The tests of each backend on each device."""
    yield '<p class="soft">The full width of a bar is the limit of the device.</p>'
    for number, entry in enumerate(entries):
        yield f"<details{'' if number else ' open'}><summary>{escaped(title(entry))}</summary>"
        if said := ", ".join(remarks(entry)):
            yield f'<p class="soft">{escaped(said)}</p>'
        if not entry.tests:
            yield f"<p>{escaped(entry.message or entry.outcome)}</p>"
        for row in table_rows(entry):
            yield from _row(row)
        yield "</details>"


def _row(row: SmokeRow) -> Iterator[str]:
    yield f'<div class="row"><span>{escaped(row.name)}</span><span class="value">{escaped(row.value)}</span>'
    if row.share is not None:
        yield _bar(row.share)
    share = "" if row.share is None else f"{row.share:.0%} "
    if said := share + row.remark:
        yield f'<span class="soft">{escaped(said)}</span>'
    yield "</div>"


def _bar(share: float) -> str:
    """A bar before its limit, which is the whole width."""
    label = f"{share:.0%} of the limit"
    shapes = box(0, 0, 100, 6, "limit", 1) + box(0, 0, 100 * min(1.0, max(0.0, share)), 6, "bar", 1)
    return f'<svg viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label="{label}">{shapes}</svg>'
