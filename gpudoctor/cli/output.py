"""Standard output and standard error, whatever state they are in."""

import os
import sys
from typing import TYPE_CHECKING, TextIO

from gpudoctor.cli import UsageError

if TYPE_CHECKING:
    import re

_NAME = "gpudoctor: "  # what each message on standard error begins with


def out(text: str) -> None:
    """Write to standard output, whatever its encoding can hold.

    Raises:
        UsageError: it is closed.
        OSError: it cannot be written to.
    """
    stream = _stream()
    encoding = stream.encoding or "utf-8"
    if not encoding.lower().startswith("utf"):
        text = text.replace("█", "#")  # the bars of the smoke tests
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def out_json(document: str) -> None:
    """Write a JSON document to standard output; what its encoding cannot hold stands as JSON escapes.

    Raises:
        UsageError: it is closed.
        OSError: it cannot be written to.
    """
    stream = _stream()
    try:
        document.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        import re

        document = re.sub("[^\x00-\x7f]", _escaped, document)
    stream.write(document)


def _escaped(found: "re.Match[str]") -> str:
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def _stream() -> TextIO:
    if sys.stdout is None:
        raise UsageError("Standard output is closed.")
    return sys.stdout


def complain(sentence: str) -> None:
    """One sentence on standard error, where that is open: on one line, but at a terminal never broken in a word."""
    from gpudoctor.cli.terminal import columns, is_terminal

    sentence = sentence.replace("\n", "\\n")
    if is_terminal(sys.stderr):
        from gpudoctor.report.sanitize import wrapped

        sentence = "\n".join(wrapped(f"{_NAME}{sentence}", columns(sys.stderr))).removeprefix(_NAME)
    _say(sentence)


def _say(text: str) -> None:
    from contextlib import suppress

    from gpudoctor.report.sanitize import clean

    if sys.stderr:  # print would take standard output instead
        with suppress(OSError):
            print(f"{_NAME}{clean(text)}", file=sys.stderr, flush=True)  # noqa: T201 - the face
            return
        drop(sys.stderr)


def complain_of_ourselves() -> None:
    """Print the traceback of a fault of ours."""
    import traceback

    _say("This is a bug in gpudoctor; please report it with these lines:\n" + traceback.format_exc().rstrip())


def fill_closed() -> None:
    """Put /dev/null where a standard stream was closed: else the next file or pipe that is opened takes its place."""
    number = os.open(os.devnull, os.O_RDWR)
    while number <= 2:
        number = os.dup(number)
    os.close(number)


def drop(stream: TextIO) -> None:
    """Send what is still buffered nowhere, so that Python's last flush does not fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
