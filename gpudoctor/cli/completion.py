"""`gpudoctor completion SHELL`: the script that lets a shell complete gpudoctor's command line."""

import argparse
import os

from gpudoctor.cli import OK
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.output import out

DESCRIPTION = """Print the script with which a shell completes commands, options, checks, areas, smoke tests, demos and
formats when you press Tab. The script starts nothing: it contains the names."""
SCRIPTS = {"bash": "gpudoctor.bash", "zsh": "_gpudoctor", "fish": "gpudoctor.fish"}  # made by docs/completions.py


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser("completion", help="print a script for Tab completion", description=DESCRIPTION)
    one.add_argument("shell", choices=tuple(SCRIPTS), metavar="SHELL", help=", ".join(SCRIPTS))
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    with open(
        os.path.join(os.path.dirname(__file__), "completions", SCRIPTS[arguments.shell]), encoding="utf-8"
    ) as file:
        out(file.read())
    return OK
