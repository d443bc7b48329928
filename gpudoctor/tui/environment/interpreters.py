"""The interpreters to pick from: those that were checked, and others found on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpudoctor.facts import Facts, Python
from gpudoctor.maybe import text_of

GENERIC = (".venv", "venv", "env", ".env")  # they say nothing without the directory that holds them


SHORT = 12  # letters of a path that is shown whole


class InterpreterEntry(NamedTuple):
    """One interpreter in the list.

    Attributes:
        path: of the interpreter.
        kind: venv, conda, pyenv, uv, system ...; empty: not known yet.
        state: checked, examining, found.
        python: its facts; None: it was not checked this time.
    """

    path: str
    kind: str
    state: str
    python: Python | None = None

    @property
    def name(self) -> str:
        """The environment's directory, where it is long by its name, with its project where that is called .venv."""
        folder, program = os.path.dirname(self.path), os.path.basename(self.path)
        if self.kind == "system" or os.path.basename(folder) != "bin":
            return program
        prefix = os.path.dirname(folder)
        if len(prefix) <= SHORT:
            return prefix
        name = os.path.basename(prefix)
        project = os.path.basename(os.path.dirname(prefix))
        return f"{project}/{name}" if name in GENERIC and project else name or program

    @property
    def about(self) -> str:
        """Its kind, and how far it is known."""
        if self.state == "examining":
            return f"{self.kind}, being checked".strip(", ")
        if self.python is None:
            return self.kind
        version = self.python.version if isinstance(self.python.version, str) else ""
        count = len(self.python.frameworks)
        what = "does not respond" if self.python.error else f"{count} framework{'' if count == 1 else 's'}"
        return ", ".join(part for part in (self.kind, version, what) if part)


def entries(
    facts: Facts | None, found: Iterable[tuple[str, str]], picked: Sequence[str] = (), running: bool = False
) -> list[InterpreterEntry]:
    """All interpreters, the checked ones first.

    Args:
        facts: of the last examination.
        found: others: path and kind.
        picked: those that the present examination was asked for.
        running: whether probes still look.
    """
    examined = {python.path: python for python in facts.pythons} if facts else {}
    kinds = dict(found)
    listed = [
        InterpreterEntry(p.path, kind_of(p), _state(p.path, picked, running, "examined"), p) for p in examined.values()
    ]
    asked = [path for path in picked if running and path not in examined]
    listed += [InterpreterEntry(path, kinds.get(path, ""), "examining") for path in asked]
    same = {_prefix(entry.path) for entry in listed} | {entry.path for entry in listed}
    same |= {text_of(python.real) for python in examined.values() if kind_of(python) == "system"}
    for path, kind in kinds.items():
        name = path if kind == "system" else _prefix(path)  # an environment's python and python3 are one
        if path not in same and name not in same:
            same.add(name)
            listed.append(InterpreterEntry(path, kind, "found"))
    return listed


def kind_of(python: Python) -> str:
    """What the probe called it; uv's builds are called standalone there."""
    kind = python.kind if isinstance(python.kind, str) else ""
    return "uv" if kind == "standalone" else kind


def _state(path: str, picked: Sequence[str], running: bool, otherwise: str) -> str:
    return "examining" if running and (path in picked or not picked) else otherwise


def _prefix(path: str) -> str:
    return os.path.dirname(os.path.dirname(path))
