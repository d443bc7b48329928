"""Releases of drivers, kernels and runtimes with a known bug, and the releases without it."""

from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load

Component = Literal[
    "nvidia",
    "rocm",
    "kernel",
    "kfd",
    "linux-firmware",
    "amdgpu-dkms",
    "guc",
    "compute-runtime",
    "l4t",
    "nccl",
    "torch",
    "torchcodec",
]


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
        kernels: the kernels with which it shows: "6.17" (all of 6.17), "6.18-" (from 6.18 on).
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
    kernels: str = ""

    @property
    def better(self) -> str:
        """The releases without it, as text: "36.5, or 36.4.4"."""
        return ", or ".join(filter(None, (f"{self.fixed} or newer" if self.fixed else "", self.good)))

    def has(self, release: str) -> bool:
        """Say whether a release is among those with the bug.

        Raises:
            NoVersionError: the release is no version.
        """
        own = version(release)
        after = not self.first or own >= version(self.first)
        return after and (not self.last or own[: len(version(self.last))] <= version(self.last))

    def shows_with(self, kernel: str) -> bool:
        """Say whether a kernel is among those with which it shows.

        Raises:
            NoVersionError: the kernel's release is no version.
        """
        if not self.kernels:
            return True
        first, own = version(self.kernels.removesuffix("-")), version(kernel)
        return own >= first if self.kernels.endswith("-") else own[: len(first)] == first


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
    return tuple(row for row in bugs(component, release, gpu) if row.sign == sign)


def bugs(component: Component, release: str, *gpus: str, kernel: str = "") -> tuple[Regression, ...]:
    """Return the known bugs of a release, whatever shows them.

    Args:
        component: what the release is of.
        release: "6.17.9-300.fc43.x86_64", "70.58.0".
        gpus: what its GPU is: the gfx target, the family, the module that drives it.
        kernel: the running kernel's release; empty: bugs that need a certain kernel do not count.

    Raises:
        NoVersionError: a release is no version.
    """
    return tuple(
        row
        for row in _regressions()
        if row.component == component
        and row.gpus in ("", *gpus)
        and row.has(release)
        and (not row.kernels or (kernel and row.shows_with(kernel)))
    )


def known_bug(component: Component, gpu: str = "", sign: str = "") -> Regression | None:
    """Return the known bug of a component, whatever its release; the arguments are those of `regressions`."""
    fits = (row for row in _regressions() if (row.component, row.sign) == (component, sign))
    return next((row for row in fits if row.gpus in ("", gpu)), None)
