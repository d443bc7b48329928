"""The command line: one command a file."""

import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from gpudoctor import __version__

if TYPE_CHECKING:
    from gpudoctor.cli.arguments import Parser

# Exit codes; formats with a convention of their own keep theirs.
OK, FAILED, USAGE, INCOMPLETE = 0, 1, 2, 3


class UsageError(Exception):
    """What the user gave cannot be used; the message is one sentence."""


# By what somebody wants to do, as the help lists them.
GROUPS = {
    "Diagnose": ("check", "explain", "run", "smoke", "checks"),
    "Repair": ("fix", "setup", "find-release"),
    "Share": ("bundle", "facts", "diff", "record"),
    "Many machines": ("fleet",),
    "Screens": ("tui", "serve"),
    "For assistants": ("mcp",),
    "More": ("completion", "help", "version"),
}
COMMANDS = tuple(name for names in GROUPS.values() for name in names)


def parser(command: str | None = None) -> "Parser":
    """The parser of one command, or of all; the page docs/cli.md is made from it."""
    from gpudoctor.cli.arguments import Parser

    top = Parser(
        prog="gpudoctor",
        usage="gpudoctor [COMMAND] [OPTION ...]",
        description="Find out why your GPU isn't working for machine learning, and get the commands that fix it. "
        "Without a command, gpudoctor opens an application in the terminal, or runs `gpudoctor check` if there is no "
        "terminal.",
    )
    top.add_argument(
        "--version", "-V", action="version", version=f"gpudoctor {__version__}", help="print the version and exit"
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True, prog="gpudoctor")
    for name in COMMANDS if command not in COMMANDS else (command,):
        import_module(f"gpudoctor.cli.{name.replace('-', '_')}").add(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the return value is the exit code. Signals are the matter of `gpudoctor.__main__`."""
    from gpudoctor.cli import output

    output.fill_closed()
    try:
        code = _run(argv)
        if sys.stdout:
            sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read our output has gone: nothing is wrong with us
        return _end(128 + getattr(signal, "SIGPIPE", 13))
    except KeyboardInterrupt:
        return _end(128 + signal.SIGINT)
    except UsageError as error:
        return _complain(argv, str(error))
    except OSError as error:
        return _complain(argv, f"{error.filename or 'Standard output'}: {error.strerror or error}.")
    except Exception:  # 1, Python's own code for a traceback, would say that the machine is ill
        output.complain_of_ourselves()
        return _end(INCOMPLETE)


def _run(argv: Sequence[str] | None) -> int:
    try:
        words = _with_command(list(sys.argv[1:] if argv is None else argv))
        arguments = parser(words[0] if words else None).parse_args(words)
    except SystemExit as end:  # --help and --version
        return int(end.code or OK)
    return int(arguments.run(arguments))


def _with_command(words: list[str]) -> list[str]:
    """The words with their command: without one, the application is meant, or without a terminal its diagnosis."""
    if words and (not words[0].startswith("-") or words[0] in ("-h", "--help", "-V", "--version")):
        return words
    from gpudoctor.cli.terminal import is_terminal

    only_there = any(word.startswith(("--samples", "--fleet")) for word in words)  # `check` has no such options
    drawn = only_there or all(is_terminal(stream) for stream in (sys.stdin, sys.stdout, sys.stderr))
    return ["tui" if drawn else "check", *words]


def _complain(argv: Sequence[str] | None, sentence: str) -> int:
    from gpudoctor.cli import output
    from gpudoctor.cli.output_options import of_wrong_usage

    output.complain(sentence)
    return _end(of_wrong_usage(list(sys.argv[1:] if argv is None else argv), sentence))


def _end(code: int) -> int:
    """Write what is buffered, or drop it; children that still run are ended as the process exits."""
    from gpudoctor.cli import output

    try:
        if sys.stdout:
            sys.stdout.flush()
    except OSError:
        output.drop(sys.stdout)
    return code
