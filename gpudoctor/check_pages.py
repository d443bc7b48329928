"""The page of a check, in plain text for `explain` and in Markdown for docs/checks: one text, two forms."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from gpudoctor.check_engine import Check, Fix
from gpudoctor.report.model import FindingEntry
from gpudoctor.report.sanitize import wrapped

_FEW = 6  # possible causes that are listed at a terminal
_WIDE = 76  # columns of what is shown as it is printed: so many are seen on the site without scrolling

SEVERITY = {
    "fail": "fail: something needed does not work",
    "warn": "warn: works, but badly or not for long",
    "advice": "advice: could be better",
}


def check_head(one: Check[Any], width: int = 80) -> str:
    """What a person reads first at `gpudoctor explain ID`: the problem, and why it happens."""
    return "\n".join([one.title, "=" * min(len(one.title), width), "", _wrap(one.cause, width)]) + "\n"


def check_page(one: Check[Any], width: int = 80, printed: bool = False) -> str:
    """What a person reads then: what it has to do with other checks, its fixes on any machine, and its sources.

    Args:
        one: the check.
        width: columns.
        printed: whether the fixes for this machine are above.
    """
    parts = _table(one, width)
    fixes = _fixes(one)
    if fixes:
        parts += ["", "Fixes"]
        for fix in fixes:
            parts += [_wrap(fix.message, width, "  - "), *(f"      {command}" for command in fix.commands)]
    elif not printed:
        parts += ["", _wrap("The fixes depend on the machine: `gpudoctor check` prints the commands.", width)]
    if one.references:
        parts += ["", "Sources", *(f"  {reference}" for reference in one.references)]
    return "\n".join(parts) + "\n"


def check_markdown(one: Check[Any], samples: Sequence[tuple[str, FindingEntry]] = ()) -> str:
    """The page under docs/checks.

    Args:
        one: the check.
        samples: machines in a few words, each with what the check reports there.
    """
    from gpudoctor.report.renderers.markdown import typed

    lines = [f"# {one.id}", "", f"**{_plain(one.title)}**", "", _plain(one.cause), ""]
    lines += ["| | |", "|---|---|"]
    lines += [f"| {name} | {_linked(value) if name == 'caused by' else value} |" for name, value in _rows(one)]
    fixes = _fixes(one)
    lines += ["", "## Fixes", ""]
    if not fixes:
        lines += ["The commands depend on the machine: `gpudoctor check` prints them."]
        lines += ["For example:"] * bool(samples)
        lines += [
            line for machine, entry in samples for line in ("", f"### {_plain(machine)}", "", *_sample(entry, True))
        ]
    for fix in fixes:
        lines += [f"- {_plain(fix.message)}"]
        for paragraph in typed(fix.commands, fix.tasks):
            lines += ["", *(f"    {line}".rstrip() for line in paragraph.splitlines()), ""]
    if fixes and samples:
        lines += ["", "## Sample output", "", f"{_plain(samples[0][0])}:", "", *_sample(samples[0][1], False)]
    if one.references:
        lines += ["", "## Sources", "", *(f"- <{reference}>" for reference in one.references)]
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _sample(entry: FindingEntry, with_fixes: bool) -> list[str]:
    """What the text report shows of a finding and the page does not, then its fixes, to be copied."""
    from gpudoctor.report.renderers.markdown import fence, fixes
    from gpudoctor.report.renderers.text import console, finding, written

    page = console(_WIDE)
    finding(page, msgspec.structs.replace(entry, cause="", fixes=(), check=""), [], False, False, hint=False)
    return "\n\n".join([fence([written(page).strip("\n")]), *(fixes(entry.fixes) if with_fixes else ())]).split("\n")


def _plain(text: str) -> str:
    """Text in which Markdown sees no markup but code in backticks."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*<\\\[]|__)", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def _linked(ids: str) -> str:
    """Ids in backticks as links to their pages; an area links to the list."""
    linked = re.sub(r"`([a-z0-9-]+)\.([a-z0-9-]+)`", r"[`\1.\2`](../\1/\2.md)", ids)
    return re.sub(r"`([a-z0-9-]+)\.\*`", r"[`\1.*`](../README.md#\1)", linked)


def _rows(one: Check[Any]) -> list[tuple[str, str]]:
    rows = [
        ("id", f"`{one.id}`"),
        ("severity", SEVERITY[one.severity.value]),
        ("affects", ", ".join(one.affects)),
        ("caused by", ", ".join(f"`{i}`" for i in one.caused_by) or "nothing: this is a root cause"),
        ("validated on", "; ".join(one.validated_on) or "not yet"),
    ]
    if one.aliases:
        rows.append(("former IDs", ", ".join(f"`{i}`" for i in one.aliases)))
    if one.deprecated:
        rows.append(("deprecated", one.deprecated))
    return rows


def _table(one: Check[Any], width: int) -> list[str]:
    """The rows without what is for contributors, and with the first of many possible causes."""
    rows = {name: value for name, value in _rows(one) if name != "validated on"}
    if len(one.caused_by) > _FEW:
        others = f"and {len(one.caused_by) - _FEW} more (docs/checks/{one.id.replace('.', '/')}.md)"
        rows["caused by"] = f"{', '.join(one.caused_by[:_FEW])} {others}"
    return [_wrap(value.replace("`", ""), width, f"{name:<14}") for name, value in rows.items()]


def _fixes(one: Check[Any]) -> tuple[Fix, ...]:
    return () if callable(one.fixes) else one.fixes


def _wrap(text: str, width: int, first: str = "") -> str:
    return "\n".join(wrapped(first + text, width, " " * len(first)))
