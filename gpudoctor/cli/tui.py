"""`gpudoctor tui`: the application in the terminal; `gpudoctor` without a command opens it too."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from gpudoctor.cli import INCOMPLETE, OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.check import demo_option, facts_of, machine_of, source

if TYPE_CHECKING:
    from gpudoctor.sampling.lines import SampleLine
    from gpudoctor.tui.session import SessionSource

DESCRIPTION = """Open an application in the terminal: see what is wrong and why, copy the commands that fix it,
re-check, monitor the GPUs, run smoke tests, and compare this machine with another. `gpudoctor` without a command opens
it too, and takes the same options."""
INSTEAD = "`gpudoctor check` prints the diagnosis as text."


def add(commands: argparse._SubParsersAction[Parser]) -> None:
    """Add the command to the parser."""
    one = commands.add_parser("tui", help="open the application in the terminal (the default)", description=DESCRIPTION)
    source(one)
    recorded(one)
    one.set_defaults(run=run)


def recorded(one: Parser) -> None:
    """Add the options that open a recorded machine instead of this one."""
    one.add_argument("--facts", metavar="FILE", help="open a machine recorded by `gpudoctor facts`")
    demo_option(one, "open")
    one.add_argument(
        "--samples", metavar="FILE", help="play recorded GPU samples instead of reading them from the driver"
    )
    one.add_argument(
        "--fleet", metavar="DIR|FILE", nargs="+", default=[], help="open the reports of many machines (docs/fleet.md)"
    )
    one.set_defaults(smoke=False)


def run(arguments: argparse.Namespace) -> int:
    """Open the application; gives the exit code once it is left."""
    served = os.environ.get("TEXTUAL_DRIVER") is not None
    if not served:
        must_be_a_terminal(f"The application needs a terminal. {INSTEAD}")
    chosen, fleet = source_of(arguments), fleet_of(arguments)
    from gpudoctor.cli import terminal_restore
    from gpudoctor.cli.terminal import colours

    with terminal_restore.cleanly(served):
        from asyncio import new_event_loop

        from gpudoctor.tui.app import Doctor

        sys.setswitchinterval(0.0005)  # probes and checks run in threads, and keys come first
        app = Doctor(chosen, served or colours(sys.stderr), fleet)
        code = app.run(loop=new_event_loop())  # asyncio.run would wait for threads, and one may wait for a dead disk
        return INCOMPLETE if app.return_code else code or OK


def fleet_of(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Where the reports of a fleet are; empty: none was asked for.

    Raises:
        UsageError: there is nothing at one of the paths.
    """
    for path in arguments.fleet:
        if path == "-":
            raise UsageError("--fleet - cannot be used here: the application reads keys from standard input.")
        if not os.path.exists(path):
            raise UsageError(f"--fleet {path}: no such file or directory.")
    return tuple(arguments.fleet)


def must_be_a_terminal(sentence: str) -> None:
    """Hold that there is a terminal with a keyboard that can be drawn on.

    Raises:
        UsageError: with the sentence, or with what is wrong with the terminal.
    """
    from gpudoctor.cli.terminal import is_terminal

    if not all(is_terminal(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise UsageError(sentence)
    kind = os.environ.get("TERM", "")
    if kind in ("dumb", "unknown"):
        raise UsageError(f"The application cannot run on this terminal (TERM={kind}). {INSTEAD}")


def source_of(arguments: argparse.Namespace) -> SessionSource:
    """What the arguments open.

    Raises:
        UsageError: a file, folder or interpreter cannot be used, or options contradict each other.
    """
    if arguments.facts == "-":
        raise UsageError("--facts - cannot be used here: the application reads keys from standard input.")
    facts = facts_of(arguments)
    samples = _samples(arguments.samples)
    from gpudoctor.pipeline import CheckOptions
    from gpudoctor.tui.session import SessionSource

    if arguments.demo is not None:
        return SessionSource(title=f"demo: {arguments.demo}", facts=facts, demo=arguments.demo, samples=samples)
    if facts is not None:
        return SessionSource(title=os.path.basename(arguments.facts), facts=facts, samples=samples)
    machine_of(arguments)  # tells what cannot be used before the screen is taken
    title = "this machine" if arguments.root == "/" else arguments.root
    options = CheckOptions(pythons=tuple(arguments.python), quick=arguments.quick, glimpses=True)
    here = arguments.root == "/" and os.environ.get("TEXTUAL_DRIVER") is None  # not in a browser
    return SessionSource(
        title=title,
        options=options,
        make=lambda: machine_of(arguments),
        samples=samples,
        command=in_terminal if here else None,
    )


def in_terminal(*words: str) -> int:
    """Run a command of ours in the terminal, which the application has given back for it; gives its exit code."""
    import signal
    import subprocess

    from gpudoctor.cli.run_program.spawn import ourselves

    before = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the command
    try:
        code = subprocess.call(ourselves(*words))
        sys.stdout.write("\nPress Enter to return to the application. ")
        sys.stdout.flush()
        sys.stdin.readline()
        return code
    finally:
        signal.signal(signal.SIGINT, before)


def _samples(path: str | None) -> tuple[SampleLine, ...]:
    """The lines of the recording; none where none was given."""
    if path is None:
        return ()
    from gpudoctor.monitor.replay import RecordingError, opened

    try:
        return opened(path)
    except RecordingError as error:
        raise UsageError(str(error)) from None
