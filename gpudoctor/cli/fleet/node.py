"""`gpudoctor fleet node`: what an engine starts on each node."""

import argparse
import sys

from gpudoctor.cli import OK, UsageError
from gpudoctor.cli.arguments import Parser

DESCRIPTION = """Check this node of a fleet and write its report in lines that `gpudoctor fleet run` puts together
again. Engines start it; to check one machine yourself, use `gpudoctor check`."""
LEAST, MOST, USUAL, USUAL_SMOKE = 5.0, 86400.0, 180.0, 900.0  # seconds


def add(parts: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = parts.add_parser("node", description=DESCRIPTION)  # no help: engines start it, not people
    one.add_argument(
        "--name", metavar="NODE", help="the node's name in the ledger (default: Slurm's, else the host name)"
    )
    one.add_argument("--expect-text", metavar="BASE64", default="", help="expectations, as sent by `fleet run`")
    looks(one)
    one.set_defaults(run=run)


def looks(one: Parser) -> None:
    """Add the options that say what is looked at on a node, and for how long."""
    one.add_argument("--quick", action="store_true", help="do not import frameworks: a second or less")
    one.add_argument("--smoke", action="store_true", help="also run the quick smoke tests")
    timeout = one.add_argument(
        "--timeout",
        type=_seconds,
        metavar="SECONDS",
        help=f"stop a node after this many seconds, even if something hangs (default: {USUAL:g}, with --smoke "
        f"{USUAL_SMOKE:g})",
    )
    one.former(timeout, "--limit")


def limit(arguments: argparse.Namespace) -> float:
    """The limit of one node, in seconds."""
    if arguments.timeout is not None:
        return float(arguments.timeout)
    return USUAL_SMOKE if arguments.smoke else USUAL


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not LEAST <= value <= MOST:
        raise UsageError(f"--timeout takes {LEAST:g} to {MOST:g} seconds, not {text}.")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Examine and send; gives the exit code."""
    from gpudoctor.expect import ExpectFileError
    from gpudoctor.fleet.runner import node

    if sys.stdout is None:
        raise UsageError("Standard output is closed.")
    seconds = limit(arguments)
    node.end_in(seconds)
    write = node.only_lines()
    name = arguments.name or node.own_name()
    try:
        node.answer(name, seconds, write, quick=arguments.quick, smoke=arguments.smoke, sent=arguments.expect_text)
    except ExpectFileError as error:
        raise UsageError(str(error)) from None
    return OK
