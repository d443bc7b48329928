"""`gpudoctor mcp`: a server for assistants, which check this machine, explain errors and plan a setup through it."""

import argparse
from typing import TYPE_CHECKING

from gpudoctor.cli import OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.extras import install_command

if TYPE_CHECKING:
    from types import ModuleType

DESCRIPTION = """Serve the Model Context Protocol on standard input and output, for an assistant that starts this
command. It can check this machine, explain errors and logs, plan a setup and compare saved files. It cannot change
anything or run a fix. Names of users and hosts, serial numbers, UUIDs and secrets are masked. Ends when standard input
is closed."""


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser(
        "mcp", help='serve an assistant over MCP, read-only (needs the extra "mcp")', description=DESCRIPTION
    )
    one.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="PATH",
        help="an interpreter or environment that the assistant may also have checked, which runs it; repeatable "
        "(default: those found in the usual places)",
    )
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until standard input is closed."""
    import sys

    from gpudoctor.cli.output import complain
    from gpudoctor.machine import Machine
    from gpudoctor.probes.python import InterpreterError, choose

    if sys.stdin is None or sys.stdout is None:
        raise UsageError("Standard input or output is closed: an assistant starts `gpudoctor mcp` with both.")

    try:
        choose(Machine(), arguments.python)
    except InterpreterError as error:
        raise UsageError(str(error)) from None
    server = _server()
    if sys.stdin.isatty():
        complain("An assistant starts this command and speaks to it; Ctrl-C ends it. See docs/mcp.md.")
    server.serve(arguments.python)
    return OK


def _server() -> "ModuleType":
    """The module that serves; loaded here, because it needs the extra."""
    try:
        from gpudoctor.cli.mcp_server import server
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "gpudoctor":
            raise
        raise UsageError(f'`gpudoctor mcp` needs the extra "mcp": `{install_command("mcp")}`.') from None
    return server
