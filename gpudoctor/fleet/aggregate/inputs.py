"""The places in which reports lie: a directory of files, a single file, a file with a line a node."""

import codecs
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import IO, Annotated, Protocol

import msgspec

# A report of eight GPUs with the whole suite of smoke tests is 0.2 MiB large; what is many times that is none.
LIMIT = 16 << 20
ENDINGS = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")  # of files with a line a node
_CHUNK = 1 << 16
_OURS = re.compile(rb'\{"node":"([A-Za-z0-9_.-]+)","report":\{')
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# O_NONBLOCK: a pipe that somebody laid among the reports is refused, and not waited for.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Sent:
    """What there is of one node.

    Args:
        node: its name.
        data: its report, as JSON; empty: it could not be read.
        why: then a sentence that says why.
        line: the line of a file that holds the report, in the place of `data`; it was not looked into.
        state: one of gpudoctor.fleet.summary.STATES, where the file knows why there is none; empty: it is unreadable.

    Attributes:
        node: its name.
        why: a sentence where its report could not be read.
        line: the whole line where the report is a part of one; else empty.
        path: of the file that holds it.
    """

    __slots__ = ("_data", "line", "node", "path", "state", "why")

    def __init__(self, node: str, data: bytes = b"", why: str = "", line: bytes = b"", state: str = "") -> None:
        self.node, self.why, self.line, self.state = node, why, line, state
        self._data = data
        self.path = ""

    @property
    def data(self) -> bytes:
        """The report, as JSON; empty where it could not be read, or the line holds none."""
        if self.line:
            try:
                return bytes(_line(self.line).report)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                return b""
        return self._data


# Whether a report is wanted, by its place and its node; None: all are.
Wanted = Callable[[int, str], bool] | None


class ReportSource(Protocol):
    """One of the paths that were named."""

    path: str

    def names(self) -> Iterator[tuple[int, str]]:
        """Of each report its place in this source, and its node; reads as little as it can."""

    def sent(self, wanted: Wanted) -> Iterator[tuple[int, Sent]]:
        """Each report that is wanted, with its place."""


class ReportDirectory:
    """A directory with a file for each node: NODE.json.

    Args:
        path: of the folder.
        named: gives the node of a file's name without its ending.
        ordered: whether the files come in the order of their names, and not as the directory holds them, which needs
            memory for all names.
    """

    def __init__(self, path: str, named: Callable[[str], str] = str, ordered: bool = False) -> None:
        self.path = path
        self._node = named
        self._ordered = ordered

    def names(self) -> Iterator[tuple[int, str]]:
        """A file's name without its ending is its node's."""
        return ((0, name) for name, _ in self._files())

    def sent(self, wanted: Wanted) -> Iterator[tuple[int, Sent]]:
        """The files."""
        for name, path in sorted(self._files()) if self._ordered else self._files():
            if wanted is None or wanted(0, name):
                yield 0, _file(name, path)

    def _files(self) -> Iterator[tuple[str, str]]:
        with os.scandir(self.path) as found:
            for entry in found:
                if entry.name.endswith(".json") and not entry.name.startswith(".") and not _is_folder(entry):
                    yield _readable(self._node(entry.name[:-5])), entry.path


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads round in a circle, or to where nobody may look: opening it says so
        return False


class ReportFile:
    """The report of one node."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._name = _readable(os.path.splitext(os.path.basename(path))[0])

    def names(self) -> Iterator[tuple[int, str]]:
        """The file's name without its ending."""
        yield 0, self._name

    def sent(self, wanted: Wanted) -> Iterator[tuple[int, Sent]]:
        """The one."""
        if wanted is None or wanted(0, self._name):
            yield 0, _file(self._name, self.path)


_Node = Annotated[str, msgspec.Meta(min_length=1)]


class _ReportLine(msgspec.Struct):
    node: _Node
    report: msgspec.Raw = msgspec.Raw(b"")
    state: str = ""
    why: str = ""


_line = msgspec.json.Decoder(_ReportLine).decode


class _Name(msgspec.Struct):
    node: _Node


class ReportLines:
    """A file with a line for each node, {"node": NAME, "report": {...}}; may be packed by gzip."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._stem = _readable(os.path.basename(path).split(".jsonl")[0].split(".ndjson")[0])

    def names(self) -> Iterator[tuple[int, str]]:
        """Each line's node."""
        decode = msgspec.json.Decoder(_Name).decode
        for number, line in self._lines():
            if found := _OURS.match(line):  # as `merge` writes it: the rest of the line need not be looked at
                yield number, found[1].decode()
                continue
            try:
                yield number, _readable(decode(line).node)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                yield number, f"{self._stem}:{number}"

    def sent(self, wanted: Wanted) -> Iterator[tuple[int, Sent]]:
        """Each line; one that cannot be read goes by the file's name and the line's number."""
        for number, line in self._lines():
            found = _OURS.match(line) if len(line) <= LIMIT else None
            sent = Sent(found[1].decode(), line=line) if found else self._sent(number, line)
            if wanted is None or wanted(number, sent.node):
                sent.path = self.path
                yield number, sent

    def _sent(self, number: int, line: bytes) -> Sent:
        try:
            one = _line(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return Sent(f"{self._stem}:{number}", why=_why(line))
        data = bytes(one.report)
        if data:
            return Sent(_readable(one.node), data)
        return Sent(_readable(one.node), why=one.why or "The line contains no report.", state=one.state)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines with their numbers; an empty one stands for all that is lost of a packed file."""
        import zlib

        number = 0
        with self._opened() as file:
            try:
                while line := file.readline(LIMIT + 1):
                    number += 1
                    cut = line
                    while len(cut) > LIMIT and cut[-1:] != b"\n":
                        cut = file.readline(LIMIT + 1)
                    if not line.isspace():
                        yield number, line
            except (EOFError, zlib.error):
                yield number + 1, b""

    def _opened(self) -> IO[bytes]:
        if not self.path.endswith(".gz"):
            return open(self.path, "rb", buffering=1 << 18)
        import gzip

        return gzip.open(self.path, "rb")  # type: ignore[return-value]


def _why(line: bytes) -> str:
    if not line:
        return "The file is truncated or damaged from here on."
    return f"The line is longer than {LIMIT >> 20} MiB." if len(line) > LIMIT else "The line is not a report of a node."


def _file(name: str, path: str) -> Sent:
    sent = Sent(name, *_held(path))
    sent.path = path
    return sent


def _held(path: str) -> tuple[bytes, str]:
    """What a file holds, or why it cannot be read."""
    try:
        begun = os.open(path, _FLAGS)
    except OSError as error:
        return b"", f"The file cannot be read: {error.strerror or error}."
    try:
        if not stat.S_ISREG(os.fstat(begun).st_mode):
            return b"", "It is a pipe or a device, not a file."
        data = os.read(begun, _CHUNK)
        while len(data) <= LIMIT and (more := os.read(begun, max(_CHUNK, len(data)))):
            data += more
    except OSError as error:
        return b"", f"The file cannot be read: {error.strerror or error}."
    finally:
        os.close(begun)
    if len(data) > LIMIT:
        return b"", f"The file is larger than {LIMIT >> 20} MiB."
    return _utf_8(data) if data.startswith(_MARKS) else data, "" if data else "The file is empty."


def _utf_8(data: bytes) -> bytes:
    """A text with a mark of its encoding, as PowerShell's `>` writes one; what is none of it stays as it is."""
    try:
        return data.decode("utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-16").encode()
    except UnicodeError:
        return data


def _readable(name: str) -> str:
    """A name that can be written as UTF-8, whatever bytes a file's name had."""
    return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
