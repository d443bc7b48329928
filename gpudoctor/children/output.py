"""Keeps a child's output in bounded memory and cuts it into lines."""

from collections.abc import Callable

OUTPUT_LIMIT = 4 << 20  # bytes kept of each stream: some hundred times the longest output of a healthy tool
LINE_LIMIT = 1 << 20  # bytes after which an unfinished line is handed on in pieces
_HALF = OUTPUT_LIMIT // 2


class KeptOutput:
    """The head and the tail of a stream: OUTPUT_LIMIT bytes, and in between a line that says what was cut."""

    def __init__(self) -> None:
        self._head, self._tail, self._seen = bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self._seen += len(data)
        room = _HALF - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > OUTPUT_LIMIT:
            del self._tail[:-_HALF]

    def text(self) -> str:
        """Return what was kept; bytes that are not UTF-8 become U+FFFD."""
        head, tail = bytes(self._head), bytes(self._tail[-_HALF:])
        if cut := self._seen - len(head) - len(tail):
            head += b"\n[... %d bytes cut ...]\n" % cut
        return (head + tail).decode(errors="replace")


class LineSplitter:
    """Hands on each line of a stream, without its newline, as soon as it is whole."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell, self._rest = tell, b""

    def add(self, data: bytes) -> None:
        """Take the next bytes of the stream, and tell the lines they end."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_LIMIT:
            whole.append(self._rest)
            self._rest = b""
        for line in whole:
            self._tell(line.decode(errors="replace"))
