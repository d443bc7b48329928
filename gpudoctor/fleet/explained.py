"""Configuration drift that no cause explains: what a cause already reports of some nodes is not listed again."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

import msgspec

from gpudoctor.expect.causes import caused_by
from gpudoctor.expect.paths import path_of
from gpudoctor.fleet.aggregate import requested_gpus
from gpudoctor.fleet.aggregate.nodeset_expansion import unfolded
from gpudoctor.fleet.summary import Cause, Departure, Drift, Fleet
from gpudoctor.lazy_regex import pattern

_NOTHING = ("none", "0")  # values of what is not there
# What explains that a node has fewer GPUs than its peers, besides what keeps a driver from all of them.
_FEWER = (requested_gpus.CHECK, "cloud.fewer-gpus", "driver.gpus-missing")
_PACKAGE = pattern(r"pythons\.(?:0|\*)\.packages\.(.+?)(?:\.version)?\Z")


def drifts(fleet: Fleet) -> tuple[Drift, ...]:
    """The drift without the nodes for which a cause of status fail or warn reports the same."""
    return tuple(_left(fleet))


def without_echoes(fleet: Fleet) -> Fleet:
    """The summary with that drift alone."""
    return msgspec.structs.replace(fleet, drifts=drifts(fleet))


def _left(fleet: Fleet) -> Iterator[Drift]:
    causes = [cause for cause in fleet.causes if cause.status in ("fail", "warn") and cause.check]
    nodes = [frozenset(unfolded(cause.nodes, cause.count)) for cause in causes] if fleet.drifts else []
    paths = [_fact(cause.title) for cause in causes]
    for drift in fleet.drifts:
        left = []
        for one in drift.departures:
            known = _known(drift, one)
            having = (
                some
                for cause, some, path in zip(causes, nodes, paths, strict=True)
                if path == drift.fact or any(_explains(cause, pattern) for pattern in known)
            )
            if not frozenset().union(*having).issuperset(unfolded(one.nodes, one.count)):
                left.append(one)
        if left or not drift.departures:
            gone = len(drift.departures) - len(left)
            yield (
                drift
                if not gone
                else msgspec.structs.replace(drift, departures=tuple(left), values=max(0, drift.values - gone))
            )


def _explains(cause: Cause, pattern: str) -> bool:
    """Whether a cause is of an area; a warning about containers, which the host starts, takes no GPU from it."""
    return fnmatchcase(cause.check, pattern) and (pattern != "container.*" or cause.status == "fail")


def _fact(title: str) -> str:
    """The fact that an expectation is about; empty: it is none."""
    return _PACKAGE.sub(r"packages.\1", path_of(title))


def _known(drift: Drift, one: Departure) -> tuple[str, ...]:
    """IDs and areas of checks that explain a departure."""
    if drift.fact.startswith("packages"):
        return ()
    fewer = drift.fact == "gpus" and _number(one.value) < _number(drift.majority)
    found = caused_by(drift.fact.split("."), one.value in _NOTHING or fewer, None, pending=True)
    return (*found, *_FEWER) if fewer else found


def _number(text: str) -> int:
    """A number of GPUs; 0 where a text from a file is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0
