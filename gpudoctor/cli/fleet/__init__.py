"""`gpudoctor fleet`: one diagnosis over many machines."""

import argparse
from importlib import import_module

from gpudoctor.cli import OK
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.output import out

DESCRIPTION = """Check many machines through the engine that the cluster already has, and see which nodes differ, in
what, and why."""
PARTS = ("run", "report", "merge", "node", "rank")


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command and its parts to the parser."""
    one = commands.add_parser("fleet", help="check many machines and see which differ", description=DESCRIPTION)
    parts = one.add_subparsers(dest="part", metavar="COMMAND", required=False)
    for part in PARTS:
        import_module(f"gpudoctor.cli.fleet.{part}").add(parts)

    def run(_: argparse.Namespace) -> int:
        out(one.format_help())
        return OK

    one.set_defaults(run=run)  # without a part
