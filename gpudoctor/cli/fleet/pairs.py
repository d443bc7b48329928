"""`gpudoctor fleet run --pairs`: neighbours sum with each other, when all have reported."""

import argparse
from typing import TYPE_CHECKING

from gpudoctor.cli import UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.fleet.job import program_of
from gpudoctor.cli.fleet.rank import USUAL

if TYPE_CHECKING:
    from gpudoctor.fleet.runner.engine import Engine


def pairs_option(one: Parser) -> None:
    """Add the option."""
    one.add_argument(
        "--pairs",
        action="store_true",
        help="afterwards, run an all-reduce between neighboring nodes to find slow links (needs PyTorch, and nodes "
        "that can resolve each other's names)",
    )


def paired(engine: "Engine", arguments: argparse.Namespace, folder: str) -> tuple[str, int]:
    """Let all pairs sum; gives why it could not go on (empty: it could), and the number of a signal that ended it.

    Raises:
        UsageError: something cannot be written.
    """
    from gpudoctor.cli.fleet.progress import endable
    from gpudoctor.cli.status_line import StatusLine
    from gpudoctor.fleet.runner.engine import EngineError
    from gpudoctor.fleet.runner.pairing import How, ask, groups

    how = How(tuple(program_of(arguments)), USUAL, arguments.jobs, not arguments.no_gpus, arguments.rerun)
    line = StatusLine()
    try:
        with endable() as ending:
            found = groups(folder)
            ask(engine, found, how, folder, ending.stop, lambda message: line.tell(f"{message} ..."), ending.hurry)
    except EngineError as error:
        return str(error), 0
    except OSError as error:
        raise UsageError(f"{error.filename or folder} cannot be written: {error.strerror or error}.") from None
    finally:
        line.end()
    return "", ending.number
