"""What environment variables do that are meant for debugging, or are read strictly."""

import re
from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load


class Debugging(msgspec.Struct, frozen=True, array_like=True):
    """A variable that slows programs down while it is set; `concerns` is "nvidia" or a package."""

    name: str
    values: str
    concerns: str
    severity: Literal["advice", "warn"]
    does: str


class DebuggingRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows of the table `debugging`."""

    rows: tuple[Debugging, ...]


class Allocator(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The options of PyTorch's allocator: for each the first release and, where it was dropped, the last."""

    complete: str
    options: dict[str, tuple[str, ...]]


class TritonPtxas(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Releases of Triton, newest first, with the CUDA release of their ptxas."""

    ptxas: tuple[tuple[str, str], ...]


class PathRow(msgspec.Struct, frozen=True, array_like=True):
    """A variable that names a file or directory; `fails` is what fails without it, "" where something else is taken."""

    name: str
    kind: Literal["path", "compiler"]
    fails: str


class PathRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows of the table `paths`."""

    rows: tuple[PathRow, ...]


class Selects(msgspec.Struct, frozen=True, array_like=True):
    """A variable whose value is a part of the name of the library that a package loads."""

    name: str
    package: str
    library: str
    build: Literal["cuda", "rocm"]


class SelectsRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows of the table `selects`."""

    rows: tuple[Selects, ...]


class BackendSwitch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable that turns on the only backend of a package which was built without its compiled extension."""

    package: str
    build: Literal["cuda", "rocm"]
    extension: str
    variable: str
    value: str
    backend: str


class Unread(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable that a package no longer reads from one release on, and what replaces it ("": nothing)."""

    name: str
    package: str
    since: str
    values: str
    now: str
    instead: str = ""


class Refused(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A variable that ends a package with an error, in releases from `since` to before `before`.

    values: those that are refused, as a regular expression. when: "unset", only while `other` is not set; "differs",
    only while `other` has another value. vendor: only with GPUs of this one. capabilities: only where all of them have
    one of these compute capabilities. without: only where this package is not installed; it fails when it is used.
    """

    name: str
    package: str
    since: str
    before: str
    values: str
    effect: str
    instead: str = ""
    when: Literal["", "unset", "differs"] = ""
    other: str = ""
    vendor: Literal["", "nvidia", "amd"] = ""
    capabilities: tuple[str, ...] = ()
    without: str = ""


class Expandable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where expandable segments of PyTorch's allocator fail, in releases from `since` to before `before`.

    place: "wsl", or "" for everywhere. last_driver: the last branch of the NVIDIA driver that has the bug; "": all.
    gpus: 2 where two GPUs have to share buffers, 1 where any has the bug. spares: GPUs that do not count, as a regular
        expression of their names. beside: where one of these packages is installed, which use it so.
    """

    package: str
    since: str
    before: str
    effect: str
    instead: str
    place: Literal["", "wsl"] = ""
    last_driver: str = ""
    gpus: int = 1
    spares: str = ""
    beside: tuple[str, ...] = ()


class Variables(KnowledgeTable, frozen=True):
    """The table ``variables.toml``."""

    debugging: DebuggingRows
    code: dict[str, str]
    allocator: Allocator
    triton: TritonPtxas
    paths: PathRows
    selects: SelectsRows
    switch: tuple[BackendSwitch, ...]
    unread: tuple[Unread, ...]
    refused: tuple[Refused, ...]
    expandable: tuple[Expandable, ...]


@cache
def variables() -> Variables:
    """Return the table, read once."""
    return load("variables", Variables)


def debugging(name: str, value: str) -> Debugging | None:
    """What a variable with this value does that only debugging wants; None: nothing."""
    for row in variables().debugging.rows:
        if row.name == name and re.fullmatch(row.values, value.strip()):
            return row
    return None


def allocator_option(name: str, torch: str) -> Literal["known", "too new", "dropped", "unknown", "unsure"]:
    """Whether a release of PyTorch ("2.0.1") knows an option of its allocator.

    Raises:
        ValueError: the release does not begin with a number.
    """
    table, own = variables().allocator, version(torch)[:2]
    span = table.options.get(name)
    if span is None:
        return "unknown" if own <= version(table.complete) else "unsure"
    if own < version(span[0]):
        return "too new"
    return "dropped" if len(span) > 1 and own > version(span[1]) else "known"


def triton_ptxas(triton: str) -> str | None:
    """The CUDA release of the ptxas in a release of Triton; None where the release is older than the table.

    Raises:
        ValueError: the release does not begin with a number.
    """
    own = version(triton)[:2]
    return next((cuda for first, cuda in variables().triton.ptxas if own >= version(first)), None)
