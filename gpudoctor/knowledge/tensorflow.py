"""What each TensorFlow release is built with and runs on."""

from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.kernels import coverage
from gpudoctor.knowledge.table import Table, load


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rules for all releases."""

    last_windows_gpu: str


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A minor release: CUDA and cuDNN it was tested with, Python range, compiled capabilities."""

    version: str
    cuda: str
    cudnn: str
    python: tuple[str, str]
    targets: str
    and_cuda: bool


class Tensorflow(Table, frozen=True):
    """The table ``tensorflow.toml``."""

    rules: Rules
    release: tuple[Release, ...]


@cache
def tensorflow() -> Tensorflow:
    """Return the table, read once."""
    return load("tensorflow", Tensorflow)


def release(number: str) -> Release | None:
    """Return the release of "2.20" or "2.20.0", or None where it is unknown."""
    minor = ".".join(number.split(".")[:2])
    return next((r for r in tensorflow().release if r.version == minor), None)


def newest() -> Release:
    """Return the newest release of the table."""
    return tensorflow().release[-1]


def kernels_for(number: str, capability: str) -> Literal["machine code", "ptx"] | None:
    """Say what in a release runs on this GPU; "ptx" is compiled at first use, and not all of it works.

    None where nothing does or the release is unknown: ask `release` first.
    """
    found = release(number)
    return coverage(found.targets, capability) if found else None
