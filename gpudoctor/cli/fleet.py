"""`gpudoctor fleet`: one diagnosis over many machines."""

import argparse
from collections.abc import Callable
from importlib import import_module

from gpudoctor.cli import UsageError
from gpudoctor.cli.arguments import Parser

DESCRIPTION = """Examine many machines with the engine that a cluster has already, and see which of them differ, in
what, and why."""
PARTS = ("run", "report", "merge", "node", "rank")
MISSING = "Sets of nodes are read by ClusterShell, which is not installed: pip install 'gpudoctor-cli[fleet]'."

Run = Callable[[argparse.Namespace], int]


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command and its parts to the parser."""
    one = commands.add_parser("fleet", help="examine many machines, and see which differ", description=DESCRIPTION)
    parts = one.add_subparsers(dest="part", metavar="COMMAND", required=True)
    for part in PARTS:
        import_module(f"gpudoctor.cli.fleet_{part}").add(parts)
        made = parts.choices[part]
        made.set_defaults(run=_guarded(made.get_default("run")))


def _guarded(run: Run) -> Run:
    """The same, but that a missing ClusterShell is told in a sentence: much can be done without it."""

    def guarded(arguments: argparse.Namespace) -> int:
        try:
            return run(arguments)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "ClusterShell":
                raise UsageError(MISSING) from None
            raise

    return guarded
