"""Turns text with the name of a class into styled content; nothing in a text is ever taken for markup."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from gpudoctor.report.sanitize import clean

STYLES = {
    "fail": "$text-error",
    "warn": "$text-warning",
    "advice": "$text-accent",
    "pass": "$text-success",
    "command": "$text-success",
    "dim": "$foreground-muted",
    "heading": "bold",
    "label": "$text-primary",
    "": "",
}


def style(names: str) -> str:
    """The style of one or several classes."""
    return " ".join(STYLES[name] for name in names.split())


def styled(parts: Iterable[tuple[str, str]]) -> Content:
    """Text with classes, one after the other."""
    return Content.assemble(*((clean(text), style(names)) for text, names in parts))
