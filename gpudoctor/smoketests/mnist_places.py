"""Where the real MNIST may lie: in the folders where programs leave it, and in one that the user names."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from gpudoctor.knowledge.mnist import Format, mnist
from gpudoctor.machine import Machine

# What a file of each format begins with; records of TensorFlow begin with a length.
BEGINNINGS: dict[bytes, Format] = {
    b"\0\0\x08\x03": "idx",
    b"\x1f\x8b": "idx",
    b"PK\x03\x04": "npz",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",  # a stream (https://arrow.apache.org/docs/format/Columnar.html)
}
MOST = 64  # names of a folder that a "*" stands for


class DigitsFile(NamedTuple):
    """A file that exists, and its format."""

    format: Format
    path: str


def usual(machine: Machine) -> Iterator[DigitsFile]:
    """What lies where programs leave it."""
    for kind, folders in mnist().usual.items():
        for folder in folders:
            start = _start(machine, folder)
            if start is not None:
                yield from _files(machine, kind, start)


def below(machine: Machine, folder: str) -> Iterator[DigitsFile]:
    """What lies in a folder, in the layouts that programs have."""
    for kind, folders in mnist().below.items():
        for inner in folders:
            yield from _files(machine, kind, os.path.normpath(f"{folder}/{inner}"))


def of_file(path: str, beginning: bytes) -> DigitsFile:
    """A file that the user names, by its first bytes."""
    name = path.rpartition("/")[2]
    if "tfrecord" in name:
        return DigitsFile("tfrecord", path)
    kind: Format = next((k for first, k in BEGINNINGS.items() if beginning.startswith(first)), "idx")
    if kind == "idx" and "labels" in name:
        path = path[: -len(name)] + name.replace("labels", "images").replace("idx1", "idx3")
    return DigitsFile(kind, path)


def absolute(machine: Machine, path: str) -> str:
    """A path as a user writes it: from the working folder, or "~" for home."""
    if path == "~" or path.startswith("~/"):
        path = machine.env.get("HOME", "") + path[1:]
    return os.path.abspath(path)


def _start(machine: Machine, folder: str) -> str | None:
    """A folder of the table as a path; None where its variable is not set."""
    if folder.startswith("."):
        return os.path.abspath(folder) if machine.here else None
    first, _, rest = folder.partition("/")
    value = machine.env.get("HOME" if first == "~" else first.lstrip("$"))
    return os.path.normpath(f"{value}/{rest}") if value and value.startswith("/") else None


def _files(machine: Machine, kind: Format, folder: str) -> Iterator[DigitsFile]:
    for found in _folders(machine, folder):
        for name in mnist().names[kind]:
            path = f"{found}/{name}"
            status = machine.status(path)
            if status is not None and not status.is_dir:
                yield DigitsFile(kind, path)


def _folders(machine: Machine, pattern: str) -> list[str]:
    """The folders that a path with "*" stands for; the path itself where it has none."""
    before, star, after = pattern.partition("/*")
    if not star:
        return [pattern]
    names = machine.names(before)[:MOST]
    return [path for name in names for path in _folders(machine, f"{before}/{name}{after}")]
