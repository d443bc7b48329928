"""Looks through the releases of a package for the one to install: few of them, since each is unpacked."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec
from packaging.version import Version

from gpudoctor.releases.pip_index import PipIndex
from gpudoctor.releases.public_names import PublicNames

SECONDS = 300  # of the whole search
_BETWEEN = 6
_GAPS = 16


class WantedName(msgspec.Struct, frozen=True):
    """What a release has to have.

    Attributes:
        name: the whole path of a module, or of a name in one.
        argument: a keyword argument that the function or class behind it takes; "": any.
    """

    name: str
    argument: str = ""

    @property
    def shown(self) -> str:
        """For people: "barlib.Model(use_cache=...)"."""
        return f"{self.name}({self.argument}=...)" if self.argument else self.name

    def is_in(self, names: PublicNames) -> bool:
        """Whether the files of a release have it."""
        return names.takes(self.name, self.argument) if self.argument else names.has(self.name)


class ExaminedRelease(msgspec.Struct, frozen=True):
    """One release that was looked at: whether it has what is wanted, or why it cannot be installed."""

    version: Version
    has: bool
    error: str | None = None


class ReleaseSearch:
    """The search for one package.

    Args:
        index: where its releases come from.
        name: the package.
        wanted: what the release has to have.
        on_release: called with each release that was looked at.
        seconds: after which no other one is looked at.
    """

    def __init__(
        self,
        index: PipIndex,
        name: str,
        wanted: WantedName,
        on_release: Callable[[ExaminedRelease], object],
        seconds: float = SECONDS,
    ) -> None:
        self._index, self._name, self._wanted, self._on_release = index, name, wanted, on_release
        self._until = time.monotonic() + seconds
        self._known: dict[Version, ExaminedRelease] = {}

    @property
    def examined(self) -> int:
        """How many releases were unpacked and read."""
        return sum(one.error is None for one in self._known.values())

    @property
    def timed_out(self) -> bool:
        """Whether there was no time to look at more of them."""
        return time.monotonic() > self._until

    def best(self, versions: Sequence[Version], installed: Version | None) -> Version | None:
        """The release to install: the newest before the installed one that has it, else the first after it.

        A name mostly goes once, so a search by halves finds the end; newer ones come first where they have the name,
        because the program was then written for them.

        Args:
            versions: those that may be installed, the newest first.
            installed: the one that lacks it; None: it is not installed.
        """
        series = _series(versions)
        newer = [one for one in series if installed is None or one > installed]
        if newer and self._has(newer[0]):
            return self._first(newer) if installed else newer[0]
        rest = series[1:] if installed is None else [one for one in series if one < installed]
        if found := self._newest_older(rest):
            return found
        # What came and went again since: seldom, so only a few are looked at.
        if again := next((one for one in newer[1:_BETWEEN] if self._has(one)), None):
            return again
        # A name that went within a minor release, as packages before 1.0 have it.
        return self._newest_older([one for one in versions if installed is None or one < installed])

    def _first(self, newer: Sequence[Version]) -> Version:
        """Of the newer releases, of which the newest has it, the newest of the lowest major that has it."""
        majors = {one.major: one for one in reversed(newer)}
        return next((one for _, one in sorted(majors.items()) if self._has(one)), newer[0])

    def _newest_older(self, older: Sequence[Version]) -> Version | None:
        """The newest of the older releases that has it: in steps that double, then by halves, then in the gaps."""
        seen, at, step = [-1], 0, 1
        while at < len(older):
            if self._has(older[at]):
                return older[self._between(older, seen[-1], at)]
            seen.append(at)
            at, step = (min(at + step, len(older) - 1) if at < len(older) - 1 else len(older)), step * 2
        return self._in_gaps(older, seen)

    def _in_gaps(self, older: Sequence[Version], seen: list[int]) -> Version | None:
        """The same where it came later than the oldest and went before the newest: in the middle of the widest gap."""
        for _ in range(_GAPS):
            width, before = max((after - before, before) for before, after in pairwise(seen))
            if width < 2:
                return None
            middle = before + width // 2
            if self._has(older[middle]):
                return older[self._between(older, before, middle)]
            seen.insert(seen.index(before) + 1, middle)
        return None

    def _between(self, older: Sequence[Version], without: int, having: int) -> int:
        while having - without > 1:
            middle = (having + without) // 2
            if self._has(older[middle]):
                having = middle
            else:
                without = middle
        return having

    def _has(self, version: Version) -> bool:
        if version not in self._known:
            if self.timed_out:
                return False
            self._known[version] = self._looked(version)
            self._on_release(self._known[version])
        return self._known[version].has

    def _looked(self, version: Version) -> ExaminedRelease:
        temporary = tempfile.mkdtemp(prefix="gpudoctor-release-")
        files = os.path.join(temporary, "files")
        try:
            if error := self._index.unpack(self._name, version, files):
                return ExaminedRelease(version, has=False, error=error)
            names = PublicNames(files)
            self._index.wheels_alone |= names.compiled
            return ExaminedRelease(version, self._wanted.is_in(names))
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def _series(versions: Sequence[Version]) -> list[Version]:
    """The newest of each minor release, the newest first."""
    found: dict[tuple[int, int], Version] = {}
    for one in sorted(versions, reverse=True):
        found.setdefault((one.major, one.minor), one)
    return list(found.values())
