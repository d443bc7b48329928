"""Macs with Apple's own chips, and what runs on them, from facts alone."""

from collections.abc import Iterator
from functools import partial

from gpudoctor.check_engine import About
from gpudoctor.facts import Facts
from gpudoctor.targets import OnFramework, OnLive, OnPython, frameworks, lives, pythons


def is_mac(facts: Facts) -> bool:
    """Whether this is macOS."""
    return facts.host.system == "Darwin"


def mac_pythons(facts: Facts) -> Iterator[tuple[About, OnPython]]:
    """Each interpreter on a Mac."""
    if is_mac(facts):
        yield from pythons(facts)


def mac_torches(facts: Facts) -> Iterator[tuple[About, OnLive]]:
    """Each PyTorch that was imported on a Mac."""
    if is_mac(facts):
        yield from partial(lives, name="torch")(facts)


def mac_tensorflows(facts: Facts) -> Iterator[tuple[About, OnFramework]]:
    """Each TensorFlow on a Mac."""
    if is_mac(facts):
        yield from frameworks(facts, "tensorflow")


def mac_jaxes(facts: Facts) -> Iterator[tuple[About, OnFramework]]:
    """Each JAX on a Mac."""
    if is_mac(facts):
        yield from frameworks(facts, "jax")
