"""The options that name files of expectations."""

import argparse
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from gpudoctor.cli import UsageError
from gpudoctor.cli.arguments import Parser

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpudoctor.expect.expectation import Expectation
    from gpudoctor.facts import Facts
    from gpudoctor.pipeline import CheckOptions

T = TypeVar("T")
SECONDS = 10.0


def expect_options(one: Parser) -> None:
    """Add the options to a command."""
    one.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="FILE",
        help="compare the machine with this expectations file; repeatable (default: ./gpudoctor.toml; "
        "/etc/gpudoctor/expect.d/*.toml is always read)",
    )
    one.add_argument("--no-expect", action="store_true", help="read only the expectations files named with --expect")


def expecting(arguments: argparse.Namespace, options: "CheckOptions") -> "CheckOptions":
    """The options with what files expect; facts of a file are held only against files that are named.

    Raises:
        UsageError: a file of expectations cannot be used.
    """
    import msgspec

    found = in_time(lambda: _read(arguments), "; --no-expect skips them")
    return msgspec.structs.replace(options, expect=found) if found else options


def _read(arguments: argparse.Namespace) -> "tuple[Expectation, ...]":
    from gpudoctor.expect import ExpectFileError
    from gpudoctor.expect.discovery import expectations

    recorded = arguments.facts is not None or arguments.demo is not None
    automatic = not recorded and not arguments.no_expect
    try:
        return expectations(arguments.expect, arguments.root, automatic)
    except ExpectFileError as error:
        raise UsageError(str(error)) from None


def in_time(read: "Callable[[], T]", hint: str = "") -> "T":
    """What a function gives that reads files, which may lie on a network mount that does not answer.

    Args:
        read: the function.
        hint: what the user can do where they do, for the end of the sentence.

    Raises:
        UsageError: it does not end in time, or its own.
    """
    ended: list[T | Exception] = []

    def work() -> None:
        try:
            ended.append(read())
        except Exception as error:
            ended.append(error)

    thread = Thread(target=work, daemon=True, name="expectations")
    thread.start()
    thread.join(SECONDS)
    if not ended:
        raise UsageError(f"Expectations files could not be read within {SECONDS:g} s{hint}.")
    if isinstance(ended[0], Exception):
        raise ended[0]
    return ended[0]


def masked_expectations(options: "CheckOptions", facts: "Facts", text: "Callable[[str], str]") -> "CheckOptions":
    """The options for a report that leaves the machine: expectations are judged by what is true, in masked words.

    Args:
        options: as they were given.
        facts: as they were found.
        text: masks a text.
    """
    if not options.expect:
        return options
    import msgspec

    from gpudoctor.expect.masking import hidden

    return msgspec.structs.replace(options, expect=hidden(options.expect, facts, text))
