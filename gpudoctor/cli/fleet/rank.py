"""`gpudoctor fleet rank`: what an engine starts on the nodes of a round of `fleet run --pairs`."""

import argparse
import sys

from gpudoctor.cli import OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.fleet.node import LEAST, MOST

DESCRIPTION = """Run a PyTorch all-reduce with this node's neighbor and write its speed in lines that `gpudoctor fleet
run --pairs` puts together again. Engines start it, on all nodes of a round at once."""
PORT, USUAL = 29653, 150.0  # seconds


def add(parts: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = parts.add_parser("rank", description=DESCRIPTION)  # no help: engines start it, not people
    one.add_argument(
        "--pairs",
        required=True,
        metavar="NODES",
        help="comma-separated node names: the first two are a pair, the next two ...",
    )
    one.add_argument("--name", default="", metavar="NODE", help="which of them this node is (default: detected)")
    one.add_argument("--gpus", type=_whole, default=0, metavar="N", help="GPUs per node; 0: use the CPUs")
    one.add_argument(
        "--port", type=_whole, default=PORT, metavar="N", help=f"port on which pairs connect (default: {PORT})"
    )
    timeout = one.add_argument(
        "--timeout",
        type=float,
        default=USUAL,
        metavar="SECONDS",
        help=f"stop after this many seconds (default: {USUAL:g})",
    )
    one.former(timeout, "--limit")
    one.add_argument("--python", default="", metavar="PATH", help="the interpreter with PyTorch")
    one.set_defaults(run=run)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:9]) < 1 << 16):
        raise UsageError(f"{text} is not a whole number from 0 to 65535.")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Sum and send; gives the exit code."""
    from gpudoctor.fleet.runner import node
    from gpudoctor.fleet.runner.pair_node import PairError, PairTask, answer

    nodes = tuple(arguments.pairs.split(","))
    if len(nodes) % 2 or not all(nodes):
        raise UsageError("--pairs needs an even number of names.")
    if not LEAST <= arguments.timeout <= MOST:
        raise UsageError(f"--timeout takes {LEAST:g} to {MOST:g} seconds.")
    if sys.stdout is None:
        raise UsageError("Standard output is closed.")
    node.end_in(arguments.timeout)
    task = PairTask(nodes, arguments.gpus, arguments.port, arguments.timeout, arguments.python)
    try:
        answer(task, arguments.name, node.only_lines())
    except PairError as error:
        raise UsageError(str(error)) from None
    return OK
