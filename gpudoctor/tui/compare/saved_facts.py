"""Keeps this machine's facts for a later comparison, and finds those kept before."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from gpudoctor.facts import Facts
from gpudoctor.facts.facts_file import write

PREFIX, SUFFIX = "facts-", ".json"


def folder(env: Mapping[str, str]) -> str:
    """Where they are kept: the XDG base directory for state, https://specifications.freedesktop.org/basedir-spec/."""
    state = env.get("XDG_STATE_HOME", "")
    home = env.get("HOME", "") or os.path.expanduser("~")
    return os.path.join(state if state.startswith("/") else f"{home}/.local/state", "gpudoctor")


def content(facts: Facts) -> str:
    """What is kept: the facts, masked."""
    from gpudoctor.privacy.masks import masked
    from gpudoctor.report.sanitize import document

    return document(masked(facts))


def name(now: float | None = None) -> str:
    """The file's name, with the present date."""
    return f"{PREFIX}{time.strftime('%Y-%m-%d-%H%M%S', time.localtime(now))}{SUFFIX}"


def keep(facts: Facts, where: str, now: float | None = None) -> str:
    """Write facts, masked, under the present date; gives the path.

    Raises:
        OSError: it cannot be written.
    """
    os.makedirs(where, mode=0o700, exist_ok=True)
    path = f"{where}/{name(now)}"
    write(path, content(facts).encode())
    return path


def kept(where: str) -> list[str]:
    """The paths of those kept before, the newest first."""
    try:
        names = os.listdir(where)
    except OSError:
        return []
    return [f"{where}/{n}" for n in sorted(names, reverse=True) if n.startswith(PREFIX) and n.endswith(SUFFIX)]
