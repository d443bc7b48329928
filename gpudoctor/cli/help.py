"""`gpudoctor help [COMMAND ...]`: the same as COMMAND --help."""

import argparse

from gpudoctor.cli import OK, parser
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.output import out


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser(
        "help",
        help="print the help of a command",
        description="Print the help of a command, the same as COMMAND --help; without one, that of gpudoctor.",
    )
    one.add_argument("names", nargs="*", metavar="COMMAND", help="a command, such as check or fleet run")
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    one = parser()
    for name in arguments.names:
        one = one.command(name)
    out(one.format_help())
    return OK
