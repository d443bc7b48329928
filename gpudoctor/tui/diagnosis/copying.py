"""Copies commands to the terminal's clipboard and to a file, and says where they went."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from textual.app import App

from gpudoctor.tui.clipboard import send
from gpudoctor.tui.diagnosis import commands
from gpudoctor.tui.diagnosis.page import PageCommand


def copy(app: App[Any], chosen: Sequence[PageCommand], machine: str) -> None:
    """Copy commands of one fix.

    Args:
        app: whose clipboard it is (OSC 52, which some terminals refuse; that is why there is a file too, unless it is
            shown in a browser, which takes what it is given and has no file here).
        chosen: what to copy.
        machine: whose fix it is.
    """
    if not chosen:
        app.notify("There is no command to copy here.", severity="warning", markup=False)
        return
    text = "\n".join(command.text for command in chosen)
    what = commands.one_line(chosen[0].text) if len(chosen) == 1 else f"{len(chosen)} commands"
    if app.is_web:
        send(app, text, what)
        return
    path = commands.place(os.environ)
    why = commands.append(path, commands.kept(chosen, machine))
    send(app, text, what, commands.short(path, os.environ.get("HOME", "")), why or "")
