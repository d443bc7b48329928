"""`gpudoctor fleet run --pairs`: neighbours sum with each other, when all have reported."""

import argparse
import shlex
import sys
from typing import TYPE_CHECKING

from gpudoctor.cli import UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.fleet_rank import USUAL

if TYPE_CHECKING:
    from gpudoctor.fleet.running.engine import Engine


def pairs_option(one: Parser) -> None:
    """Add the option."""
    one.add_argument(
        "--pairs",
        action="store_true",
        help="afterwards, let neighbours sum with each other, to find the slow link: with PyTorch, on nodes that know "
        "each other's names",
    )


def paired(engine: "Engine", arguments: argparse.Namespace, folder: str) -> tuple[str, int]:
    """Let all pairs sum; gives why it could not go on (empty: it could), and the number of a signal that ended it.

    Raises:
        UsageError: something cannot be written.
    """
    from gpudoctor.cli.fleet_progress import endable
    from gpudoctor.fleet.running.engine import EngineError
    from gpudoctor.fleet.running.pairing import How, ask, groups

    program = tuple(shlex.split(arguments.program))
    how = How(program, USUAL, arguments.fan, not arguments.no_gpus, arguments.again)
    told = _Told()
    try:
        with endable() as ending:
            ask(engine, groups(folder), how, folder, ending.stop, told.tell)
    except EngineError as error:
        return str(error), 0
    except OSError as error:
        raise UsageError(f"{error.filename or folder} cannot be written: {error.strerror or error}.") from None
    finally:
        told.end()
    return "", ending.number


class _Told:
    """One line on standard error where that is a terminal; gone at the end."""

    def __init__(self) -> None:
        from gpudoctor.cli.terminal import is_terminal

        self._shown = is_terminal(sys.stderr)

    def tell(self, says: str) -> None:
        """Show it in place of what was shown before."""
        if self._shown:
            from gpudoctor.cli.terminal import columns
            from gpudoctor.report.clean import clean

            line = " ".join(clean(f"{says} ...").split())
            sys.stderr.write("\r\x1b[K" + line[: columns(sys.stderr) - 1])
            sys.stderr.flush()

    def end(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
