"""`gpudoctor version`: the same as --version."""

import argparse

from gpudoctor import __version__
from gpudoctor.cli import OK
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.output import out


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser("version", help="print the version", description="Print the version.")
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:  # noqa: ARG001 - as every command
    """Print it."""
    out(f"gpudoctor {__version__}\n")
    return OK
