"""The sections of the page: problems, missing reports, drift, outliers, changes."""

from collections.abc import Iterator

from gpudoctor.fleet.renderers.phrases import MARKS, agreement, count_of, moment, often_apart, share
from gpudoctor.fleet.summary import Cause, Change, Drift, Fleet, Missing, Spread
from gpudoctor.report.model import FindingEntry
from gpudoctor.report.numbers import amount, number
from gpudoctor.report.renderers.html_findings import finding, prose
from gpudoctor.report.renderers.svg import box, escaped, line, picture

FOLDS = 300  # letters of a set of nodes that a page shows without a click
WIDE, HIGH = 320.0, 22.0  # of a spread's picture


def causes(fleet: Fleet) -> Iterator[str]:
    """Problems to fix, worst first, each as a report shows it, with its nodes."""
    if fleet.causes:
        yield f"<h2>{'Problems to fix' if fleet.counts.get('fail') else 'Findings'}</h2>"
    for place, cause in enumerate(fleet.causes, 1):
        yield from _cause(place, cause)


def _cause(place: int, cause: Cause) -> Iterator[str]:
    entry = FindingEntry(
        check=cause.check,
        status=cause.status,
        subject=cause.example,
        title=cause.title,
        message=f"{cause.example}: {cause.message}" if cause.message else "",
        cause=cause.cause,
        fixes=cause.fixes if cause.check else (),  # those of many causes together fix none of them
        run=cause.run if cause.check else "",
        references=cause.references,
    )
    parts = finding(place, entry, [])
    yield next(parts)  # where it begins, and its title: the nodes come after them
    yield next(parts)
    yield nodes(cause.nodes, share(cause), cause.check, f"c{place - 1}")
    yield from parts


def nodes(folded: str, count: str, find: str, key: str) -> str:
    """How many nodes, and which, with a button that shows their cells alone.

    Args:
        folded: the nodes.
        count: how many, in words.
        find: what stands in the search meanwhile.
        key: a letter and the number that html_grid.told gives to what they have in common.
    """
    data = f'data-find="{escaped(find)}" data-key="{key}"'
    head = f'<b>{escaped(count)}</b> <button type="button" class="find" {data} hidden>show</button>'
    if len(folded) <= FOLDS:
        return f'<p class="nodes">{head} <code>{escaped(folded)}</code></p>'
    whole = f"<details><summary>which</summary><code>{escaped(folded)}</code></details>"
    return f'<div class="nodes">{head} {whole}</div>'


def missing(fleet: Fleet) -> Iterator[str]:
    """The nodes without a report, by why."""
    if fleet.missing:
        yield "<h2>Without a report</h2>"
    for place, one in enumerate(fleet.missing):
        which = nodes(one.nodes, count_of(one.count), one.why or one.state, f"m{place}")
        yield f'<div class="part"><h3>{escaped(one.state)}</h3>{_why(one)}{which}</div>'


def _why(one: Missing) -> str:
    return f"<p>{prose(one.why)}</p>" if one.why else ""


def drifts(fleet: Fleet) -> Iterator[str]:
    """Configuration drift, by hardware."""
    before, place = None, 0
    if fleet.drifts:
        yield "<h2>Configuration drift</h2>"
    for drift in fleet.drifts:
        if drift.hardware != before:
            yield f"<h3>{escaped(drift.hardware)}</h3>"
            before = drift.hardware
        yield from _drift(drift, place)
        place += len(drift.departures)


def _drift(drift: Drift, first: int) -> Iterator[str]:
    """A fact; `first` is the number of its first departure among those of all facts."""
    yield f'<div class="part"><h4><code>{escaped(drift.fact)}</code></h4><p>{escaped(agreement(drift))}</p>'
    if drift.departures:
        yield "<ul>"
        for place, one in enumerate(drift.departures, first):
            where = nodes(one.nodes, count_of(one.count), f"{drift.fact} = {one.value}", f"d{place}")
            yield f"<li><code>{escaped(one.value)}</code>{where}</li>"
        hidden = drift.values - len(drift.departures) - bool(drift.majority)
        yield f"<li>and {number(hidden)} more values</li></ul>" if hidden > 0 else "</ul>"
    yield "</div>"


def spreads(fleet: Fleet) -> Iterator[str]:
    """What was measured; the figures with outliers first, the others folded."""
    apart = [one for one in fleet.spreads if one.outliers or one.more]
    others = [one for one in fleet.spreads if not (one.outliers or one.more)]
    if fleet.spreads:
        yield "<h2>Outliers</h2>"
        yield '<p class="soft">A line from min to max, a box from p5 to p95, a tick at '
        yield "the median; outliers are marked.</p>"
        if often := often_apart(fleet):
            devices = ", ".join(f"<b>{escaped(node)} {escaped(device)}</b> ({count})" for node, device, count in often)
            yield f"<p>Outliers in several figures: {devices}</p>"
    for one in apart:
        yield from _spread(one)
    if others:
        message = f"{number(len(others))} figure{'s' * (len(others) != 1)} without outliers"
        yield f"<details><summary>{message}</summary>"
        for one in others:
            yield from _spread(one)
        yield "</details>"


def _spread(spread: Spread) -> Iterator[str]:
    yield f'<div class="part spread"><h4>{escaped(spread.figure)}</h4>'
    yield f'<p class="soft">{escaped(spread.hardware)}: {number(spread.count)} values, {escaped(spread.unit)}</p>'
    yield _picture(spread)
    five = (("min", spread.least), ("p5", spread.low), ("median", spread.median), ("p95", spread.high))
    cells = "".join(
        f"<div><dt>{name}</dt><dd>{amount(value)}</dd></div>" for name, value in (*five, ("max", spread.most))
    )
    yield f'<dl class="five">{cells}</dl>'
    if spread.outliers:
        yield "<ul>"
        for one in spread.outliers:
            message = f"{amount(one.value)} {spread.unit} ({one.deviations:+.1f} sigma, MAD)"
            yield f"<li><b>{escaped(one.node)} {escaped(one.device)}</b>: {escaped(message)}</li>"
        yield f"<li>and {number(spread.more)} more</li></ul>" if spread.more else "</ul>"
    yield "</div>"


def _picture(spread: Spread) -> str:
    middle = HIGH / 2

    def at(value: float) -> float:
        reach = spread.most - spread.least
        place = (value - spread.least) / reach if reach > 0 else 0.5
        return 2 + (WIDE - 4) * (min(1.0, max(0.0, place)) if place == place else 0.5)  # not a number is unlike itself

    low, median, high = at(spread.low), at(spread.median), at(spread.high)
    shapes = [
        line([(at(spread.least), middle), (at(spread.most), middle)], "link"),
        box(low, 5, max(1.0, high - low), HIGH - 10, "bar", 1),
        line([(median, 2), (median, HIGH - 2)], "tick", 2),
        *(line([(at(o.value), 4), (at(o.value), HIGH - 4)], "apart", 2) for o in spread.outliers),
    ]
    title = f"{amount(spread.least)} to {amount(spread.most)} {spread.unit}, median {amount(spread.median)}"
    return picture(WIDE, HIGH, title, shapes, "spread")


def changes(fleet: Fleet) -> Iterator[str]:
    """What has changed since an earlier summary."""
    if not fleet.since and not fleet.changes:
        return
    yield f"<h2>Since {escaped(moment(fleet.since))}</h2>" if fleet.since else "<h2>Changed</h2>"
    if not fleet.changes:
        yield "<p>No changes.</p>"
        return
    yield '<ul class="changes">'
    yield from map(_change, fleet.changes)
    yield "</ul>"


def _change(change: Change) -> str:
    mark = MARKS.get(change.kind, "*")
    which = ""
    if change.nodes:
        short = len(change.nodes) <= FOLDS
        shown = f"<code>{escaped(change.nodes)}</code>"
        which = f" {shown}" if short else f" <details><summary>which</summary>{shown}</details>"
    count = f" ({count_of(change.count)})" if change.count else ""
    return f"<li><b>{mark}</b> {prose(change.message)}{count}{which}</li>"
