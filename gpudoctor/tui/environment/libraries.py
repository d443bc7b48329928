"""The libraries of a framework: which copy won, how, which lost, and which was truly loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpudoctor.facts import Framework, Need
from gpudoctor.maybe import Unknown


class Linked(NamedTuple):
    """One library that a framework needs.

    Attributes:
        need: what the loader's rules say.
        loaded: the file that was truly mapped; None: it was not, or nobody looked.
        agrees: whether that file is the one that won.
    """

    need: Need
    loaded: str | None
    agrees: bool

    @property
    def message(self) -> str:
        """In a few words."""
        if self.need.path is None:
            return f"not found, required by {os.path.basename(self.need.needed_by)}"
        parts = [self.need.version or "", f"by {self.need.how}" if self.need.how else "", "loaded" * self.agrees]
        return ", ".join(part for part in parts if part)


def linked(framework: Framework) -> list[Linked]:
    """What a framework needs, next to what it really loaded."""
    needs = framework.needs if isinstance(framework.needs, tuple) else ()
    mapped = _mapped(framework)
    return [_linked(need, mapped) for need in needs]


def besides(framework: Framework) -> list[str]:
    """Files that were loaded and that no need names: the driver's own, and what was opened by name."""
    known = {one.loaded for one in linked(framework)}
    return [path for path in _mapped(framework) if path not in known]


def _mapped(framework: Framework) -> Sequence[str]:
    live = framework.live
    return () if live is None or isinstance(live.libraries, Unknown) else live.libraries


def _linked(need: Need, mapped: Sequence[str]) -> Linked:
    copies = list(_copies(need.soname, mapped))
    same = next((path for path in copies if need.path is not None and _same(need.path, path)), None)
    return Linked(need, same or next(iter(copies), None), same is not None)


def _copies(soname: str, mapped: Sequence[str]) -> Iterator[str]:
    """Mapped files of a soname: libcudnn.so.9 is mapped as libcudnn.so.9.10.2."""
    return (path for path in mapped if f"{os.path.basename(path)}.".startswith(f"{soname}."))


def _same(path: str, mapped: str) -> bool:
    """Whether a mapped file is what a path leads to: of a link only the directory is the same."""
    return os.path.dirname(path) == os.path.dirname(mapped)
