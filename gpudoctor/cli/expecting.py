"""The options that name files of expectations."""

import argparse
from typing import TYPE_CHECKING

from gpudoctor.cli import UsageError
from gpudoctor.cli.arguments import Parser

if TYPE_CHECKING:
    from gpudoctor.examine import Wishes


def expect_options(one: Parser) -> None:
    """Add the options to a command."""
    one.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="FILE",
        help="hold the machine against this file of expectations; may be repeated (default: ./gpudoctor.toml; "
        "/etc/gpudoctor/expect.d/*.toml is always read)",
    )
    one.add_argument("--no-expect", action="store_true", help="read no file of expectations that is not named")


def expecting(arguments: argparse.Namespace, wishes: "Wishes") -> "Wishes":
    """The wishes with what files expect; facts of a file are held only against files that are named.

    Raises:
        UsageError: a file of expectations cannot be used.
    """
    import msgspec

    from gpudoctor.expect.places import expectations
    from gpudoctor.expect.trust import ExpectFileError

    automatic = arguments.facts is None and not arguments.no_expect
    try:
        found = expectations(arguments.expect, arguments.root, automatic)
    except ExpectFileError as error:
        raise UsageError(str(error)) from None
    return msgspec.structs.replace(wishes, expect=found) if found else wishes
