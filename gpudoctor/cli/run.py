"""`gpudoctor run -- COMMAND`: runs a command untouched, and where it fails, says why."""

import argparse
import os
import shlex
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gpudoctor.cli import UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.output import complain, complain_of_ourselves
from gpudoctor.process_cleanup import leaving_otherwise

if TYPE_CHECKING:
    from gpudoctor.cli.run_program.figures import RunFigures
    from gpudoctor.cli.run_program.interpreter import CommandTarget
    from gpudoctor.cli.run_program.process import ProgramResult
    from gpudoctor.cli.run_program.verdict import RunVerdict
    from gpudoctor.pipeline import Done
    from gpudoctor.report.model import Report
    from gpudoctor.symptoms import Log

DESCRIPTION = """Run a command with its terminal, output, signals and exit code unchanged. If it fails, its output is
explained on standard error as `gpudoctor explain --log` does, in the command's own environment and with its own Python.
If it succeeds, one line on standard error shows what was odd about its use of GPUs, such as "held no GPU: PyTorch is a
CPU-only build" or "GPU 0 busy 4 of 31 minutes; 8 workers at 99% CPU: the data loader is the limit". For that it is
watched from outside, from its fifth second on. Nothing is added if all is well, if too little is known, if it imports
no GPU framework, if it ran for less than 10 seconds, or if it is stopped by Ctrl-C or a signal. The exit code is the
command's; 126 or 127, as in a shell, if it cannot be run or does not exist."""
ELSEWHERE = "gpudoctor run works on Linux only; elsewhere, pass the command's output to `gpudoctor explain --log FILE`."
WHERE = "Put -- before the command: gpudoctor run -- {}"


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser(
        "run",
        help="run a command; explain why it fails or leaves the GPU unused",
        description=DESCRIPTION,
        usage="gpudoctor run [OPTION ...] -- COMMAND [ARG ...]",
    )
    from gpudoctor.cli.check import timeout_option

    one.add_argument(
        "--quick", action="store_true", help="do not import frameworks for the diagnosis: a second or less"
    )
    timeout_option(one, "150; the command itself has no limit")
    one.add_argument("--output", "-o", metavar="FILE", help="also write the diagnosis to a file, as one JSON document")
    one.add_argument(
        "--report",
        metavar="FILE",
        help="write to a file, as one JSON document, how long each GPU was busy, the CPU time of each process, and the "
        "verdict; also if the command fails",
    )
    one.add_argument("program", metavar="-- COMMAND [ARG ...]", nargs=argparse.REMAINDER, help="the command to run")
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command, and explain its failure; gives its exit code."""
    words = arguments.program
    if words[:1] != ["--"]:
        raise UsageError(WHERE.format(shlex.join(words)) if words else WHERE.format("python train.py"))
    argv = words[1:]
    if not argv:
        raise UsageError("No command after --.")
    if sys.platform != "linux":
        raise UsageError(ELSEWHERE)
    from gpudoctor.cli.run_program import process
    from gpudoctor.cli.run_program.spawn import NotRunError
    from gpudoctor.cli.run_program.watch import ProgramWatch

    watch, begun = ProgramWatch(), time.monotonic()
    try:
        ended = process.run(argv, os.environ, watch.start)
    except NotRunError as error:
        complain(str(error))
        return error.code
    wall = time.monotonic() - begun
    figures = watch.end(wall)
    try:
        # who does not want to wait for the diagnosis gets the exit code at once
        with leaving_otherwise(signal.SIGINT, lambda _: process.leave(ended)):
            if (ended.code or ended.signal) and not ended.asked:
                _explain(arguments, argv, ended)
            if figures is not None or arguments.report:
                _judge(arguments, argv, ended, wall, figures)
    except Exception:  # a fault of ours is no reason to change the program's exit code
        complain_of_ourselves()
    if ended.signal:
        process.die_by(ended.signal)
        return 128 + ended.signal
    return ended.code


def _explain(arguments: argparse.Namespace, argv: list[str], ended: "ProgramResult") -> None:
    """Say on standard error why it failed."""
    log = ended.tail.log()
    _ending(log, ended)
    from gpudoctor.cli.own_path import typeable, with_script

    report = with_script(typeable(_report(arguments, argv, log)), argv)
    from gpudoctor.cli.terminal import colours, columns
    from gpudoctor.report.renderers.symptom_text import render

    how = f"was killed by {_name(ended.signal)}" if ended.signal else f"exited with code {ended.code}"
    text = render(report, columns(sys.stderr), colours(sys.stderr))
    with suppress(OSError, AttributeError, ValueError):  # standard error is closed, or gone
        sys.stderr.write(f"\ngpudoctor: {_shown(argv)} {how}.\n\n{text}")
        sys.stderr.flush()
    if arguments.output:
        _write(arguments.output, report)


def _judge(
    arguments: argparse.Namespace, argv: list[str], ended: "ProgramResult", wall: float, figures: "RunFigures | None"
) -> None:
    """Say in a line what was odd about a program that succeeded, and write the figures where somebody wants them."""
    from gpudoctor.cli.run_program.verdict import verdict

    succeeded = not (ended.code or ended.signal or ended.asked)
    found = verdict(figures) if figures is not None and (succeeded or arguments.report) else None
    if found is not None and figures is not None and found.id == "no-gpu-held":
        found = _with_reason(arguments, argv, figures, found)
    if found is not None and succeeded:
        complain(f"{found.line}.")
    if arguments.report:
        from gpudoctor.cli.run_program.run_report import render

        _put(arguments.report, render(figures, wall, ended.code, ended.signal, found))


def _with_reason(
    arguments: argparse.Namespace, argv: list[str], figures: "RunFigures", found: "RunVerdict"
) -> "RunVerdict | None":
    """The verdict with the reason why it held no GPU; None: that is as it should be, or nobody knows why."""
    from gpudoctor.cli.run_program.no_gpu import reason, target
    from gpudoctor.cli.run_program.verdict import framework_of

    framework = framework_of(figures)
    if framework is None:
        return None
    done = _checked(arguments, target(figures, framework, argv, os.environ), quick=True)[0]
    why = reason(done.report, done.facts, framework)
    return found._replace(line=f"{found.line}{why}") if why else None


def _ending(log: "Log", ended: "ProgramResult") -> None:
    """Add how it ended to what it said: a program that is killed says nothing itself."""
    from gpudoctor.symptoms import Scanner

    number = ended.signal or max(0, ended.code - 128)
    reported = {
        signal.SIGKILL: "exit code 137",
        signal.SIGSEGV: "Segmentation fault, exit code 139",
        signal.SIGBUS: "Bus error, exit code 135",
        signal.SIGILL: "Illegal instruction, exit code 132",
        signal.SIGABRT: "Aborted (core dumped), exit code 134",
    }.get(number)  # type: ignore[call-overload]
    if reported:
        scanner = Scanner(log)
        scanner.feed(f"The program ended: {reported}".encode())
        scanner.close()


def _report(arguments: argparse.Namespace, argv: list[str], log: "Log") -> "Report":
    """The diagnosis in the command's own environment."""
    from gpudoctor.cli.run_program.interpreter import command_of
    from gpudoctor.privacy.secrets import harmless
    from gpudoctor.symptoms import explained

    done, verdicts = _checked(arguments, command_of(argv, os.environ), arguments.quick)
    return harmless(explained(done.report, log, done.facts, verdicts, "here"))


def _checked(arguments: argparse.Namespace, own: "CommandTarget", quick: bool) -> "tuple[Done, tuple[Any, ...]]":
    """A check in the command's own environment, and the verdicts of its checks."""
    from gpudoctor.cli.progress import CheckProgress
    from gpudoctor.machine import TOTAL_SECONDS, Machine
    from gpudoctor.pipeline import CheckOptions, Done, Judged, examine
    from gpudoctor.probes.python import InterpreterError, choose

    machine = Machine(env=own.env, seconds=arguments.timeout or TOTAL_SECONDS)
    pythons = (own.python,) if own.python else ()
    try:
        choose(machine, pythons)
    except InterpreterError:
        pythons = ()
    with CheckProgress() as progress:
        for event in examine(machine, CheckOptions(pythons=pythons, quick=quick)):
            progress.tell(event)
            if isinstance(event, Judged):
                verdicts = event.verdicts
            if isinstance(event, Done):
                done = event
    return done, verdicts


def _write(path: str, report: "Report") -> None:
    """Write the report to a file."""
    from gpudoctor.report.renderers.json import render

    _put(path, render(report).encode())


def _put(path: str, document: bytes) -> None:
    """Write a file; the program's exit code stays, whatever comes of it."""
    from gpudoctor.facts.facts_file import write

    try:
        write(path, document)
    except OSError as error:
        complain(f"{path} cannot be written: {error.strerror or error}.")


def _shown(argv: list[str]) -> str:
    """The command, on one line and not too long."""
    from gpudoctor.report.sanitize import clean

    text = clean(shlex.join(argv))
    return text if len(text) <= 100 else f"{text[:99]}…"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
