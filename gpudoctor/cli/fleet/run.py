"""`gpudoctor fleet run ENGINE [NODES]`: the same check on many machines."""

import argparse
import os
from itertools import chain
from typing import TYPE_CHECKING

from gpudoctor.cli import INCOMPLETE, OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.fleet.dry_run import shown
from gpudoctor.cli.fleet.engine_options import chosen_options, engine_options, typed_options
from gpudoctor.cli.fleet.job import job_of
from gpudoctor.cli.fleet.node import looks
from gpudoctor.cli.fleet.pairs import paired, pairs_option
from gpudoctor.cli.fleet.results import made_directory
from gpudoctor.cli.output import complain, out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpudoctor.fleet.runner.engine import Engine, FleetTarget, NodeJob, ShownEngine
    from gpudoctor.fleet.runner.orchestrator import RunOutcome
    from gpudoctor.fleet.runner.run_directory import RunDirectory

DESCRIPTION = """Check many machines at once, through the engine that starts commands on them. Each node has its own
time limit, a ledger records what became of each, and the same command resumes an interrupted run."""
NODES = "node set such as node[01-16,20] (default: the nodes of the run in DIR, else all that ENGINE lists)"
JOBS = 64
MOST_JOBS = 10_000


def add(parts: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    from gpudoctor.fleet.runner.engines import ENGINES

    one = parts.add_parser("run", help="check many machines through an engine", description=DESCRIPTION)
    one.add_argument(
        "engine",
        metavar="ENGINE",
        choices=tuple(ENGINES),
        help=f"the engine that starts gpudoctor: {', '.join(ENGINES)}",
    )
    one.add_argument("nodes", metavar="NODES", nargs="?", default="", help=NODES)
    output = one.add_argument(
        "--output", "-o", type=_named, metavar="DIR",
        help="directory of the run: ledger and reports (default: gpudoctor-fleet-DATE, a new one for each run)",
    )  # fmt: skip
    one.add_argument(
        "--dry-run", action="store_true", help="show the nodes, the command and the directory, and start nothing"
    )
    rerun = one.add_argument("--rerun", action="store_true", help="run again on nodes that have already reported")
    jobs = one.add_argument(
        "--jobs", type=_jobs, default=JOBS, metavar="N", help=f"number of nodes at once (default: {JOBS})"
    )
    for option, former in ((output, "--into"), (rerun, "--again"), (jobs, "--fan")):
        one.former(option, former)
    looks(one)
    one.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="FILE",
        help="compare each node with this expectations file, which is read here; repeatable",
    )
    one.add_argument(
        "--with",
        dest="program",
        default="gpudoctor",
        metavar="COMMAND",
        help='the command that starts gpudoctor on a node, such as "/opt/gpudoctor/bin/gpudoctor" (default: gpudoctor)',
    )
    one.add_argument("--no-gpus", action="store_true", help="do not request GPUs from the engine")
    pairs_option(one)
    one.add_argument("--json", action="store_true", help="print the summary as one JSON document")
    engine_options(one)["kubernetes"].add_argument(
        "--print", action="store_true", help="print a manifest to apply yourself, and contact no node"
    )
    one.set_defaults(run=run)


def _jobs(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= MOST_JOBS):
        raise UsageError(f"--jobs takes a whole number from 1 to {MOST_JOBS}, not {text}.")
    return int(text)


def _named(text: str) -> str:
    if not text:
        raise UsageError("--output needs a directory name; an unset shell variable gives an empty one.")
    return text


def run(arguments: argparse.Namespace) -> int:
    """Ask the nodes and sum up what they said; gives the exit code."""
    if arguments.print:
        from gpudoctor.cli.fleet.manifest import printed

        out(printed(arguments))
        return OK
    _must_be_text(arguments.nodes, arguments.program, *chain(*typed_options(arguments).values()))
    arguments.nodes = arguments.nodes or _asked_before(arguments)
    job = job_of(arguments)
    engine, targets = _engine(arguments)
    if arguments.dry_run:
        out(shown(engine, targets, job, arguments))
        return OK if any(not one.why_not for one in targets) else INCOMPLETE
    targets = _with_gpus(targets, arguments)
    if arguments.output is None:
        arguments.output = made_directory()
        complain(f"The results go to {arguments.output}; to continue this run later, add --output {arguments.output}.")
    folder = _opened(arguments, job)
    try:
        outcome, number = _conducted(engine, targets, job, folder, arguments.rerun)
        if arguments.pairs and not number and not outcome.error:
            why, number = paired(engine, arguments, folder.path)
            outcome = outcome._replace(error=why)
    finally:
        folder.close()
    if number or outcome.error:
        complain(f"{outcome.error or 'The run was interrupted.'} {_goes_on(folder)}")
    if number:
        return 128 + number
    code = _told(arguments)
    return code or INCOMPLETE if outcome.error else code


def _must_be_text(*words: str) -> None:
    """Hold that the ledger and run.json can hold what was typed.

    Raises:
        UsageError: something that was typed is no UTF-8.
    """
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{word} is not valid UTF-8.") from None


def _asked_before(arguments: argparse.Namespace) -> str:
    """The nodes that an earlier run asked for, which is gone on with; empty: all, or there was none.

    Raises:
        UsageError: the folder is of something else.
    """
    from gpudoctor.fleet.runner.run_directory import FolderError, read

    try:
        before = read(arguments.output) if arguments.output else None
    except FolderError as error:
        raise UsageError(str(error)) from None
    return before.nodes if before and before.engine == arguments.engine else ""


def _engine(arguments: argparse.Namespace) -> "tuple[ShownEngine, Sequence[FleetTarget]]":
    """The engine, and the nodes that are wished for.

    Raises:
        UsageError: it cannot be used, or there is no such node.
    """
    from gpudoctor.fleet.runner.engine import EngineError
    from gpudoctor.fleet.runner.engines import engine

    options = chosen_options(arguments)
    try:
        made = engine(arguments.engine, **options)
        targets = made.targets(arguments.nodes)
    except EngineError as error:
        raise UsageError(str(error)) from None
    if not targets:
        raise UsageError(f"{arguments.engine} lists no node{f' {arguments.nodes}' if arguments.nodes else ''}.")
    return made, targets


def _with_gpus(targets: "Sequence[FleetTarget]", arguments: argparse.Namespace) -> "Sequence[FleetTarget]":
    """The nodes without those for which the engine lists no GPU, and that nobody named."""
    from gpudoctor.fleet.runner.engine import passed_over

    plain = passed_over(targets, not arguments.no_gpus)
    if plain:
        from gpudoctor.fleet.nodesets import fold
        from gpudoctor.fleet.renderers.phrases import count_of

        complain(f"{count_of(len(plain))} without GPUs not checked: {fold(plain)}. Name them to check them too.")
    return [one for one in targets if one.node not in set(plain)]


def _opened(arguments: argparse.Namespace, job: "NodeJob") -> "RunDirectory":
    """The folder, which is ours until it is closed.

    Raises:
        UsageError: it cannot be used.
    """
    from gpudoctor import __version__
    from gpudoctor.fleet.runner.ledger import LedgerError
    from gpudoctor.fleet.runner.run_directory import FolderError, Run, RunDirectory

    asked = Run(
        version=__version__,
        engine=arguments.engine,
        options=typed_options(arguments),
        nodes=arguments.nodes,
        command=job.argv,
        seconds=job.seconds,
        fan=job.fan,
    )
    try:
        return RunDirectory(arguments.output, asked)
    except (FolderError, LedgerError) as error:
        raise UsageError(str(error)) from None


def _conducted(
    engine: "Engine", targets: "Sequence[FleetTarget]", job: "NodeJob", folder: "RunDirectory", again: bool
) -> "tuple[RunOutcome, int]":
    """How the run ended, and the number of the signal that ended it; 0: none did.

    Raises:
        UsageError: something cannot be written, or the engine cannot be used after all.
    """
    from gpudoctor.cli.fleet.progress import FleetProgress, endable
    from gpudoctor.fleet.runner.ledger import LedgerError
    from gpudoctor.fleet.runner.orchestrator import conduct
    from gpudoctor.fleet.runner.run_directory import FolderError

    try:
        left = folder.waiting(targets, again)
    except (FolderError, LedgerError) as error:
        raise UsageError(str(error)) from None
    before = len({one.node for one in targets}) - len(left)
    _tell_skipped(before, len(left), folder.path)
    progress = FleetProgress(before)
    try:
        with endable() as ending:
            outcome = conduct(engine, left, job, folder, ending.stop, progress.tell, ending.hurry)
    finally:
        progress.end()
    if outcome.full:
        raise UsageError(f"{outcome.error} {_goes_on(folder)}")
    if outcome.error and "reported" not in folder.ledger.counts():
        raise UsageError(outcome.error)  # the engine is of no use here
    return outcome, ending.number


def _tell_skipped(before: int, left: int, path: str) -> None:
    """Say that nodes are not checked again, and how they are."""
    if not before:
        return
    from gpudoctor.fleet.renderers.phrases import count_of

    have = "has" if before == 1 else "have"
    none = "" if left else " Nothing was started; the summary below is of those reports."
    complain(f"{count_of(before)} {have} already reported in {path}; --rerun checks them again.{none}")


def _goes_on(folder: "RunDirectory") -> str:
    counts = folder.ledger.counts()
    reported, all_ = counts.get("reported", 0), sum(counts.values())
    have = f"{reported:,} of {all_:,} nodes have reported, in {folder.path}"
    return f"{have}; run the same command to continue with the others."


def _told(arguments: argparse.Namespace) -> int:
    """Sum up what the nodes said, as `fleet report` does; gives the exit code.

    Raises:
        UsageError: the folder cannot be read.
    """
    from gpudoctor.cli import parser

    words = ["fleet", "report", *(["--json"] if arguments.json else []), os.path.join(os.curdir, arguments.output)]
    asked = parser("fleet").parse_args(words)
    return int(asked.run(asked))
