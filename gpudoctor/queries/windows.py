"""Native Windows: its display adapters and what runs on them, from facts alone."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import About
from gpudoctor.facts import Adapter, Facts
from gpudoctor.maybe import known, present
from gpudoctor.targets import NAMES, OnFramework, OnLive, OnPython, frameworks, lives, pythons

VENDORS = {"10de": "NVIDIA", "1002": "AMD", "8086": "Intel"}


class OnAdapter(msgspec.Struct, frozen=True):
    """One display adapter of a vendor whose GPUs can compute."""

    facts: Facts
    adapter: Adapter

    @property
    def maker(self) -> str:
        """The vendor's name."""
        return VENDORS[present(self.adapter.vendor)]


def is_windows(facts: Facts) -> bool:
    """Whether this is native Windows."""
    return facts.host.system == "Windows"


def windows_adapters(facts: Facts) -> Iterator[tuple[About, OnAdapter]]:
    """Each adapter from NVIDIA, AMD or Intel.

    Raises:
        UnknownFactError: Windows did not list them.
    """
    if not is_windows(facts):
        return
    for adapter in known(facts.windows.adapters):
        if adapter.vendor in VENDORS:
            yield About(label=adapter.name), OnAdapter(facts, adapter)


def windows_pythons(facts: Facts) -> Iterator[tuple[About, OnPython]]:
    """Each interpreter on native Windows."""
    if is_windows(facts):
        yield from pythons(facts)


def windows_torches(facts: Facts) -> Iterator[tuple[About, OnFramework]]:
    """Each PyTorch on native Windows."""
    if is_windows(facts):
        yield from frameworks(facts, "torch")


def windows_frameworks(facts: Facts) -> Iterator[tuple[About, OnLive]]:
    """Each framework that was imported on native Windows."""
    if is_windows(facts):
        for name in NAMES:
            yield from lives(facts, name)
