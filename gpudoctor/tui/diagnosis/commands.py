"""Keeps the commands that were copied in a file, for terminals without a clipboard and for later."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from gpudoctor.report.sanitize import clean
from gpudoctor.tui.diagnosis.page import PageCommand


def place(environment: Mapping[str, str]) -> str:
    """The file: under the directory for state (XDG Base Directory Specification), which has to be an absolute path."""
    state = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        home = environment.get("HOME", "")
        state = os.path.join(home if os.path.isabs(home) else os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "gpudoctor", "commands.sh")


def kept(commands: Sequence[PageCommand], machine: str, when: str = "") -> str:
    """The lines for the file: what it is for as a comment, then each command.

    Args:
        commands: of one fix.
        machine: whose fix it is.
        when: date and time; empty: now.
    """
    when = when or time.strftime("%Y-%m-%d %H:%M")
    comment = one_line(f"{commands[0].check} ({machine}, {when}): {commands[0].message}")
    return "\n".join([f"# {comment}", *(command.text for command in commands), "", ""])


def append(path: str, text: str) -> str | None:
    """Write behind what is there; gives the reason where that fails."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


def one_line(text: str) -> str:
    """Harmless, and on one line: a comment that went on in the next line would be a command."""
    return " ".join(clean(text).split())


def short(path: str, home: str) -> str:
    """The path as people write it."""
    return f"~{path[len(home) :]}" if home not in ("", "/") and path.startswith(home + "/") else path
