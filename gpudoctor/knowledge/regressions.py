"""Releases of drivers, kernels and runtimes with a known bug, and the releases without it."""

from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load

Component = Literal["nvidia", "rocm", "linux", "linux-firmware", "compute-runtime", "l4t", "torch", "torchcodec"]


class Regression(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bug of some releases; an empty text: no bound, or none is known.

    Attributes:
        component: what has the bug.
        first: the first release with it.
        last: the last release that is known to have it.
        good: the newest release before it that works.
        fixed: the first release after it that works.
        gpus: the GPU that it is about: a gfx target, a family, a generation.
        sign: what in the log or the facts shows it.
        what: what happens, as the rest of a sentence about the release.
        source: the thread that has it.
        also: what else has the fix, or what the fixed release is called, for people.
    """

    component: Component
    first: str
    last: str
    good: str
    fixed: str
    gpus: str
    sign: str
    what: str
    source: str
    also: str = ""

    @property
    def better(self) -> str:
        """The releases without it, as text: "36.5, or 36.4.4"."""
        return ", or ".join(filter(None, (f"{self.fixed} or newer" if self.fixed else "", self.good)))


class RegressionTable(KnowledgeTable, frozen=True):
    """The table ``regressions.toml``."""

    regression: tuple[Regression, ...]


@cache
def _regressions() -> tuple[Regression, ...]:
    return load("regressions", RegressionTable).regression


def regressions(component: Component, release: str, gpu: str = "", sign: str = "") -> tuple[Regression, ...]:
    """Return the known bugs of a release.

    Args:
        component: what the release is of.
        release: "570.195.03", "7.1.1", "37020".
        gpu: a gfx target, a family or a generation.
        sign: what was seen.

    Raises:
        NoVersionError: the release is no version.
    """
    own = version(release)
    return tuple(
        row
        for row in _regressions()
        if row.component == component
        and row.sign == sign
        and row.gpus in ("", gpu)
        and (not row.first or own >= version(row.first))
        and (not row.last or own[: len(version(row.last))] <= version(row.last))
    )


def known_bug(component: Component, gpu: str = "", sign: str = "") -> Regression | None:
    """Return the known bug of a component, whatever its release; the arguments are those of `regressions`."""
    fits = (row for row in _regressions() if (row.component, row.sign) == (component, sign))
    return next((row for row in fits if row.gpus in ("", gpu)), None)
