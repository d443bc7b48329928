"""Keeps this machine's facts for a later comparison, and finds those kept before."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from gpudoctor.facts import Facts
from gpudoctor.facts.file import write

PREFIX, SUFFIX = "facts-", ".json"


def folder(env: Mapping[str, str]) -> str:
    """Where they are kept: the XDG base directory for state, https://specifications.freedesktop.org/basedir-spec/."""
    state = env.get("XDG_STATE_HOME", "")
    home = env.get("HOME", "") or os.path.expanduser("~")
    return os.path.join(state if state.startswith("/") else f"{home}/.local/state", "gpudoctor")


def keep(facts: Facts, where: str, now: float | None = None) -> str:
    """Write facts, masked, under the present date; gives the path.

    Raises:
        OSError: it cannot be written.
    """
    from gpudoctor.privacy import masked
    from gpudoctor.report.clean import document

    os.makedirs(where, mode=0o700, exist_ok=True)
    date = time.strftime("%Y-%m-%d-%H%M%S", time.localtime(now))
    path = f"{where}/{PREFIX}{date}{SUFFIX}"
    write(path, document(masked(facts)).encode())
    return path


def kept(where: str) -> list[str]:
    """The paths of those kept before, the newest first."""
    try:
        names = os.listdir(where)
    except OSError:
        return []
    return [f"{where}/{n}" for n in sorted(names, reverse=True) if n.startswith(PREFIX) and n.endswith(SUFFIX)]
