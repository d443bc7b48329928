"""Cuts a stream of bytes into lines as somebody saw them: without colors, and with every state of a progress bar."""

import codecs
from collections.abc import Iterator

from gpudoctor.lazy_regex import pattern

# A line is cut there; a message that stands across the cut is still found, because the pieces overlap.
LONGEST, OVERLAP = 1 << 14, 1 << 10
_ESCAPES = pattern(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colors, movements
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links
    r"|\x1b[ -/]*[0-~]"
)
# What a program that gathers logs writes before each line: https://docs.docker.com/reference/cli/docker/compose/logs/,
# https://kubernetes.io/docs/reference/kubectl/generated/kubectl_logs/ (--prefix, --timestamps; CRI's own files),
# journalctl -o short and short-iso, torchrun's --tee, PyTorch's and mpirun's ranks. The kernel's own lines keep theirs.
_GATHERED = pattern(
    r"(?:[A-Za-z0-9][\w.-]* {2,}\|(?: |$)"
    r"|\[pod/[\w./-]+\] "
    r"|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) (?:std(?:out|err) [FP] |(?!\S+ kernel\b))"
    r"|(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8}|\d{4}-\d\d-\d\dT\S+) [\w.-]+ (?!kernel\b|systemd)[\w.@/-]+(?:\[\d+\])?: "
    r"|\[(?:default|rank)\d+\]: ?"
    r"|\[\d+,\d+\]<std(?:out|err)>: ?){1,3}"
)
_FRAME = " │┃|╎┆"
_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class LogLines:
    """The lines of a stream as bytes, each with its number from 1."""

    def __init__(self) -> None:
        self.number = 0
        self._rest = b""
        self._begun = False
        self._decoder: codecs.IncrementalDecoder | None = None

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The lines that are complete."""
        data = self._rest + self._in_utf8(data)
        *whole, self._rest = data.split(b"\n")
        for line in whole:
            self.number += 1
            yield from self._pieces(line)
        while len(self._rest) > LONGEST:
            yield self.number + 1, self._rest[:LONGEST]
            self._rest = self._rest[LONGEST - OVERLAP :]

    def close(self) -> Iterator[tuple[int, bytes]]:
        """The last line, which no newline ends."""
        if self._rest:
            self.number += 1
            yield from self._pieces(self._rest)
            self._rest = b""

    def _pieces(self, line: bytes) -> Iterator[tuple[int, bytes]]:
        """A line's states: a carriage return lets the next one be written over it."""
        if b"\r" not in line:
            yield self.number, line
            return
        for piece in [piece for piece in line.split(b"\r") if piece] or [b""]:
            yield self.number, piece

    def _in_utf8(self, data: bytes) -> bytes:
        """UTF-16, which PowerShell writes, as UTF-8; everything else as it is."""
        if not self._begun and data:
            self._begun = True
            name = _MARKS.get(data[:2])
            self._decoder = codecs.getincrementaldecoder(name)("replace") if name else None
            data = data[2:] if name else data.removeprefix(codecs.BOM_UTF8)
        return self._decoder.decode(data).encode("utf-8", "replace") if self._decoder else data


def readable(line: bytes) -> str:
    """A line as text, without escape sequences, the frame of a boxed traceback, and NULs."""
    text = line.decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return text.replace("\0", "").rstrip()


def unframed(text: str) -> str:
    """A line out of a box that rich has drawn around a traceback, without its frame."""
    inside = text.strip(_FRAME)
    return inside.strip() if inside != text.strip() else text


def gathered(text: str) -> tuple[str, str]:
    """A line in two: what a program that gathers logs has written before it, and what the program itself wrote."""
    found = _GATHERED.match(text)
    end = found.end() if found is not None else 0
    return text[:end], text[end:]


def shared(one: str, other: str) -> str:
    """What two lines begin with."""
    end = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:end]
