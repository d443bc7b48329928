"""The command line: one command a file."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from gpudoctor import __version__

# Exit codes; formats with a convention of their own keep theirs.
OK, FAILED, USAGE, INCOMPLETE = 0, 1, 2, 3


def parser() -> argparse.ArgumentParser:
    """The parser of all commands; the page docs/cli.md is made from it."""
    from gpudoctor.cli import check, checks, explain, facts

    top = argparse.ArgumentParser(
        prog="gpudoctor",
        description="Finds why a GPU does not work for machine learning, and says what to type to mend it.",
        epilog="Exit codes: 0 nothing failed, 1 something failed, 2 wrong usage, 3 too little could be found out.",
    )
    top.add_argument("--version", action="version", version=f"gpudoctor {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (check, facts, explain, checks):
        module.add(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the return value is the exit code."""
    for name in ("SIGTERM", "SIGHUP"):
        _end_on(name)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # inherited as ignored, the kernel would take our children's codes
    try:
        arguments = parser().parse_args(argv)
        code = int(arguments.run(arguments))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        return _closed()
    except KeyboardInterrupt:
        _end_children()
        return 128 + signal.SIGINT
    except UsageError as error:
        return say(str(error))
    except OSError as error:
        return say(f"{error.filename or 'Output'}: {error.strerror or error}.")


class UsageError(Exception):
    """What the user gave cannot be used; the message is one sentence."""


def say(sentence: str) -> int:
    """One sentence on standard error, and the exit code of wrong usage."""
    from gpudoctor.report.clean import clean

    print(f"gpudoctor: {clean(sentence)}", file=sys.stderr)  # noqa: T201 - the face
    return USAGE


def out(text: str) -> None:
    """Write to standard output, whatever its encoding can hold."""
    stream = sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _closed() -> int:
    """Whoever read our output has gone: nothing more can be said, and nothing is wrong with us."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _end_children()
    return 128 + signal.SIGPIPE


def _end_on(name: str) -> None:
    """End our children before we end by a signal."""

    def handler(number: int, _: object) -> None:
        _end_children()
        os._exit(128 + number)

    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) is signal.SIG_DFL:
        signal.signal(number, handler)


def _end_children() -> None:
    from gpudoctor.child import end_all

    end_all(closing=True)
