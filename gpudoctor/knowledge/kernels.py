"""Which compiled GPU code runs on which compute capability: the same rule for every framework."""

from functools import lru_cache
from typing import Literal

from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import UnknownFactError

# Jetson chips run only what was compiled for exactly them (CUDA C++ programming guide, "Binary
# compatibility": https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility).
_JETSON = frozenset({"5.3", "6.2", "7.2", "8.7"})
# The numbers of a version, none of more digits than a moment to the second has, as nightly builds bear it.
_NUMBERS = pattern(r"[0-9]{1,18}(?:\.[0-9]{1,18})*(?=$|[^0-9.]|\.(?:$|[^0-9]))")


class NoVersionError(UnknownFactError, ValueError):
    """A text is no version: what it would decide is unknown, not broken."""


@lru_cache(4096)  # a plan compares the same few hundred versions half a million times
def version(text: str) -> tuple[int, ...]:
    """Return the numbers of a dotted version or capability, for comparisons: "12.0" is (12, 0).

    What follows the numbers does not count: "2.15.0rc1+cu132" is (2, 15, 0).

    Raises:
        NoVersionError: the text does not begin with a number, or one of its numbers has more digits than any version.
    """
    found = _NUMBERS.match(text)
    if found is None:
        raise NoVersionError(f"{text[:60]!r} is no version")
    return tuple(int(part) for part in found.group().split("."))


def runs_on(compiled: str, capability: str) -> bool:
    """Say whether machine code for ``compiled`` ("8.0") runs on a GPU of ``capability`` ("8.6").

    Machine code runs within its major, on the same or a later minor.
    """
    if capability in _JETSON:
        return compiled == capability
    (major, minor), (own_major, own_minor) = version(compiled)[:2], version(capability)[:2]
    return compiled not in _JETSON and major == own_major and minor <= own_minor


@lru_cache(4096)
def coverage(targets: str, capability: str) -> Literal["machine code", "ptx"] | None:
    """Say what in a list such as "8.0 9.0 12.0+PTX" runs on a GPU of this capability, or None.

    PTX runs on every later capability, after the driver has compiled it at first use.
    """
    words = targets.split()
    if any(runs_on(word, capability) for word in words if "+" not in word):
        return "machine code"
    ptx = (word.removesuffix("+PTX") for word in words if "+" in word)
    return "ptx" if any(version(word) <= version(capability) for word in ptx) else None
