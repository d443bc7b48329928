"""Sends a text to the clipboard of who looks on, and claims no more than that: no terminal confirms it.

The text goes out as OSC 52, which many terminals take, over ssh too, and others ignore, as tmux does unless
its `set-clipboard` is on.
"""

from __future__ import annotations

from typing import Any

from textual.app import App


def send(app: App[Any], text: str, shown: str, file: str = "", why: str = "") -> None:
    """Send a text, and show that it was sent.

    Args:
        app: whose clipboard it is.
        text: what to copy.
        shown: what it is, for people.
        file: in which it is too; empty: in none.
        why: the file could not be written; empty: it could.
    """
    app.copy_to_clipboard(text)
    whose = "browser" if app.is_web else "terminal"
    where = f"\nNot in {file}: {why}" if why else f"\nAlso in {file}" if file else ""
    app.notify(
        f"{shown}{where}",
        title=f"Sent to the {whose}'s clipboard",
        severity="warning" if why else "information",
        markup=False,
    )
