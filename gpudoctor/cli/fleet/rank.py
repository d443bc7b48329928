"""`gpudoctor fleet rank`: what an engine starts on the nodes of a round of `fleet run --pairs`."""

import argparse
import sys

from gpudoctor.cli import OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.fleet.node import LEAST, MOST

DESCRIPTION = """Sum with this node's neighbour, by PyTorch, and write how fast that was in lines that `gpudoctor fleet
run --pairs` puts together again. An engine starts it, on all nodes of a round at once. Exit codes: 0 what was found was
written, 2 wrong usage, or this node is none of those that are named, 3 it did not end within its limit."""
PORT, USUAL = 29653, 150.0  # seconds


def add(parts: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = parts.add_parser("rank", help="sum with this node's neighbour (engines start it)", description=DESCRIPTION)
    one.add_argument(
        "--pairs", required=True, metavar="NODES", help="names with commas: the first two are a pair, the next two ..."
    )
    one.add_argument("--name", default="", metavar="NODE", help="which of them this is (default: it finds out)")
    one.add_argument("--gpus", type=_whole, default=0, metavar="N", help="GPUs of each node; 0: the CPUs sum")
    one.add_argument("--port", type=_whole, default=PORT, metavar="N", help=f"where pairs meet (default: {PORT})")
    one.add_argument("--limit", type=float, default=USUAL, metavar="SECONDS", help=f"(default: {USUAL:g})")
    one.add_argument("--python", default="", metavar="PATH", help="the interpreter whose PyTorch sums")
    one.set_defaults(run=run)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:9]) < 1 << 16):
        raise UsageError(f"{text} is no whole number from 0 to 65535.")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Sum and send; gives the exit code."""
    from gpudoctor.fleet.runner import node
    from gpudoctor.fleet.runner.pair_node import PairError, PairTask, answer

    nodes = tuple(arguments.pairs.split(","))
    if len(nodes) % 2 or not all(nodes):
        raise UsageError("--pairs takes an even number of names.")
    if not LEAST <= arguments.limit <= MOST:
        raise UsageError(f"--limit takes {LEAST:g} to {MOST:g} seconds.")
    if sys.stdout is None:
        raise UsageError("Standard output is closed, so there is nowhere to write to.")
    node.end_in(arguments.limit)
    task = PairTask(nodes, arguments.gpus, arguments.port, arguments.limit, arguments.python)
    try:
        answer(task, arguments.name, node.only_lines())
    except PairError as error:
        raise UsageError(str(error)) from None
    return OK
