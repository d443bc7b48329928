"""`gpudoctor run -- COMMAND`: runs a command untouched, and where it fails, says why."""

import argparse
import os
import shlex
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from gpudoctor.cli import UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.output import complain, complain_of_ourselves
from gpudoctor.process_cleanup import leaving_otherwise

if TYPE_CHECKING:
    from gpudoctor.cli.run_program.process import ProgramResult
    from gpudoctor.report.model import Report
    from gpudoctor.symptoms import Log

DESCRIPTION = """Run a command with its terminal, output, signals and exit code unchanged. If it fails, its output is
explained on standard error as `gpudoctor explain --log` does, in the command's own environment and with its own Python.
Nothing is added if it succeeds or is stopped by Ctrl-C or a signal. The exit code is the command's; 126 or 127, as in a
shell, if it cannot be run or does not exist."""
ELSEWHERE = "gpudoctor run works on Linux only; elsewhere, pass the command's output to `gpudoctor explain --log FILE`."
WHERE = "Put -- before the command: gpudoctor run -- {}"


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser(
        "run",
        help="run a command and explain it if it fails",
        description=DESCRIPTION,
        usage="gpudoctor run [OPTION ...] -- COMMAND [ARG ...]",
    )
    from gpudoctor.cli.check import timeout_option

    one.add_argument(
        "--quick", action="store_true", help="do not import frameworks for the diagnosis: a second or less"
    )
    timeout_option(one, "150; the command itself has no limit")
    one.add_argument("--output", "-o", metavar="FILE", help="also write the diagnosis to a file, as one JSON document")
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

    try:
        ended = process.run(argv, os.environ)
    except NotRunError as error:
        complain(str(error))
        return error.code
    if (ended.code or ended.signal) and not ended.asked:
        try:
            # who does not want to wait for the diagnosis gets the exit code at once
            with leaving_otherwise(signal.SIGINT, lambda _: process.leave(ended)):
                _explain(arguments, argv, ended)
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
    report = _report(arguments, argv, log)
    from gpudoctor.cli.terminal import colours, columns
    from gpudoctor.report.renderers.symptom_text import render

    how = f"was killed by {_name(ended.signal)}" if ended.signal else f"exited with code {ended.code}"
    text = render(report, columns(sys.stderr), colours(sys.stderr))
    with suppress(OSError, AttributeError, ValueError):  # standard error is closed, or gone
        sys.stderr.write(f"\ngpudoctor: {_shown(argv)} {how}.\n\n{text}")
        sys.stderr.flush()
    if arguments.output:
        _write(arguments.output, report)


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
    from gpudoctor.cli.progress import CheckProgress
    from gpudoctor.cli.run_program.interpreter import command_of
    from gpudoctor.machine import TOTAL_SECONDS, Machine
    from gpudoctor.pipeline import CheckOptions, Done, Judged, examine
    from gpudoctor.privacy import harmless
    from gpudoctor.probes.python import InterpreterError, choose
    from gpudoctor.symptoms import explained

    own = command_of(argv, os.environ)
    machine = Machine(env=own.env, seconds=arguments.timeout or TOTAL_SECONDS)
    pythons = (own.python,) if own.python else ()
    try:
        choose(machine, pythons)
    except InterpreterError:
        pythons = ()
    with CheckProgress() as progress:
        for event in examine(machine, CheckOptions(pythons=pythons, quick=arguments.quick)):
            progress.tell(event)
            if isinstance(event, Judged):
                verdicts = event.verdicts
            if isinstance(event, Done):
                done = event
    return harmless(explained(done.report, log, done.facts, verdicts, "here"))


def _write(path: str, report: "Report") -> None:
    """Write the report to a file; the program's exit code stays, whatever comes of it."""
    from gpudoctor.facts.facts_file import write
    from gpudoctor.report.renderers.json import render

    try:
        write(path, render(report).encode())
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
