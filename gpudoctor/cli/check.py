"""`gpudoctor check`: examine, judge, report."""

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from gpudoctor.cli import UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.expect_options import expect_options, expecting
from gpudoctor.cli.output_options import chosen, deliver, exit_code, leaving, options
from gpudoctor.cli.repeated_options import runnable_again

if TYPE_CHECKING:
    from gpudoctor.check_engine import Verdict
    from gpudoctor.cli.output_options import ReportOutput
    from gpudoctor.facts import Facts
    from gpudoctor.machine import Machine
    from gpudoctor.pipeline import CheckOptions
    from gpudoctor.report.model import Report

DESCRIPTION = """Check this machine: what is wrong, why, and the commands that fix it.
Changes nothing, sends nothing."""

# The names of gpudoctor.demo, which is loaded for those who open one.
DEMOS = ("mismatch", "cpu-wheel", "bad-link")
FAIL_ON: Any = {
    "choices": ("fail", "warn", "advice", "never"),
    "default": "fail",
    "help": "the mildest finding that makes the exit code 1 (default: fail); never: exit code is always 0",
}


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser("check", help="diagnose this machine and show the fixes", description=DESCRIPTION)
    source(one)
    options(one)
    only = "run only these checks or areas (security runs only this way)"
    one.add_argument("--only", action="append", default=[], metavar="ID|AREA", help=only)
    one.add_argument("--skip", action="append", default=[], metavar="ID|AREA", help="do not run these checks or areas")
    one.add_argument("--fail-on", **FAIL_ON)
    one.add_argument("--smoke", action="store_true", help="also run the quick smoke tests (`gpudoctor smoke` has more)")
    one.add_argument("--facts", metavar="FILE", help="check facts written by `gpudoctor facts` (-: standard input)")
    demo_option(one, "check")
    expect_options(one)
    one.add_argument("--symptom", metavar="TEXT", help="an error message you saw: findings that explain it come first")
    one.add_argument(
        "--verbose", "-v", action="store_true", help="also list what is unknown or ruled out, and references"
    )
    one.set_defaults(run=run)


def source(one: Parser) -> None:
    """Add the options that say which machine and which Python are examined."""
    python_option(one)
    one.add_argument("--quick", action="store_true", help="do not import frameworks: a second or less")
    one.add_argument(
        "--root", default="/", metavar="DIR", help="check the file system under DIR (the host's, from a container)"
    )
    timeout_option(one, "150")


def python_option(one: Parser) -> None:
    """Add the option that says which Python is examined."""
    one.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="PATH",
        help="the interpreter, virtual environment or conda environment to check; repeatable (default: the active "
        "environment, else .venv in this or a parent directory)",
    )


def demo_option(one: Parser, verb: str) -> None:
    """Add the option that takes a recorded demo machine instead of this one."""
    one.add_argument(
        "--demo", choices=DEMOS, metavar="NAME", help=f"{verb} a recorded demo machine: {', '.join(DEMOS)}"
    )


def timeout_option(one: Parser, default: str) -> None:
    """Add the option that bounds the whole examination."""
    one.add_argument(
        "--timeout",
        type=_seconds,
        metavar="SECONDS",
        help=f"stop after this many seconds, even if something hangs (default: {default})",
    )


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value <= 86400:
        raise UsageError(f"--timeout takes 1 to 86400 seconds, not {text}.")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Examine and report; gives the exit code."""
    form = chosen(arguments)
    facts = facts_of(arguments)
    machine = None if facts else _asked_early(arguments)
    from gpudoctor.catalogue import SelectionError

    options = expecting(arguments, options_of(arguments, arguments.only, arguments.skip))
    try:
        report, facts = report_and_facts(machine, options, facts)
        if arguments.symptom:
            from gpudoctor.symptoms import attach, log_of, with_shown

            if (shown := with_shown(facts, log_of(arguments.symptom), "here")) is not facts:
                report, facts = report_and_facts(None, options, shown)
    except SelectionError as error:
        raise UsageError(str(error)) from None
    if not is_recorded(arguments):
        report = runnable_again(report, facts, arguments)
    left = leaving(report, facts, options, form)
    report, facts = left.report, left.facts
    if arguments.demo is not None:
        report = _of_a_demo(report, arguments.demo, form)
    elif form.name == "text" and (report.findings or any("`gpudoctor" in line for line in report.next)):
        report = _started_by_path(report)
    if arguments.symptom:
        report = attach(report, left.text(arguments.symptom), recorded=is_recorded(arguments))
    if report.findings or report.symptoms:
        from gpudoctor.cli.own_path import typeable

        report = typeable(report)
    deliver(report, facts, form)
    return exit_code(report, form, arguments.fail_on)


def _of_a_demo(report: "Report", name: str, form: "ReportOutput") -> "Report":
    """The report with a sentence that it is of a demo; on standard error where the format may not show sentences."""
    import msgspec

    from gpudoctor.cli.output import complain

    sentence = f'Demo "{name}": this is a recorded machine, not yours.'
    if form.name != "text":
        complain(sentence)
    return msgspec.structs.replace(report, next=(sentence, *report.next))


def _started_by_path(report: "Report") -> "Report":
    """The report with a sentence on what to type for `gpudoctor`, where a shell would not find it."""
    import msgspec

    from gpudoctor.cli.own_path import own_path

    if (program := own_path()) is None:
        return report
    sentence = f"`gpudoctor` is not on PATH: type `{program}` instead, or activate its environment."
    return msgspec.structs.replace(report, next=(*report.next, sentence))


def report_and_facts(
    machine: "Machine | None", options: "CheckOptions", facts: "Facts | None" = None
) -> "tuple[Report, Facts]":
    """The report and what it is about, with the progress on standard error while it is made.

    Raises:
        UsageError: a given interpreter does not answer, or what was chosen for the smoke tests is not there.
        SelectionError: --only or --skip matches nothing.
    """
    return judged(machine, options, facts)[:2]


def judged(
    machine: "Machine | None", options: "CheckOptions", facts: "Facts | None" = None
) -> "tuple[Report, Facts, tuple[Verdict, ...]]":
    """The report, the facts that it is about, and what each check said.

    Raises:
        UsageError: a given interpreter does not answer, or what was chosen for the smoke tests is not there.
        SelectionError: --only or --skip matches nothing.
    """
    from gpudoctor.cli.progress import CheckProgress
    from gpudoctor.pipeline import Done, Gathered, Judged, examine

    with CheckProgress() as progress:
        try:
            for event in examine(machine, options, facts):
                progress.tell(event)
                if isinstance(event, Gathered) and machine:
                    answered(event.facts)
                if isinstance(event, Judged):
                    verdicts = event.verdicts
                if isinstance(event, Done):
                    found = event.report, event.facts
        except _choice_errors(options) as error:
            raise UsageError(str(error)) from None
    return *found, verdicts


def _choice_errors(options: "CheckOptions") -> tuple[type[Exception], ...]:
    """What can be wrong with the choice of smoke tests; their modules are loaded for those who want them."""
    if options.smoke is None:
        return ()
    from gpudoctor.smoketests.options import ChoiceError

    return (ChoiceError,)


def options_of(arguments: argparse.Namespace, only: list[str], skip: list[str]) -> "CheckOptions":
    """What the arguments wish for.

    Raises:
        UsageError: an interpreter is missing or is none.
    """
    from gpudoctor.pipeline import CheckOptions

    smoke = None
    if getattr(arguments, "smoke", False):
        from gpudoctor.smoketests import quick_suite

        smoke = quick_suite()
    return CheckOptions(
        pythons=tuple(arguments.python),
        quick=arguments.quick,
        only=tuple(only),
        skip=tuple(skip),
        smoke=smoke,
        recorded=is_recorded(arguments),
    )


def is_recorded(arguments: argparse.Namespace) -> bool:
    """Whether the facts are of a file or a demo."""
    return any(getattr(arguments, name, None) is not None for name in ("facts", "demo"))


def facts_of(arguments: argparse.Namespace) -> "Facts | None":
    """The facts file or the demo that was given, read.

    Raises:
        UsageError: it cannot be read, or an option that looks at this machine was given next to it.
    """
    demo = getattr(arguments, "demo", None)
    if arguments.facts is None and demo is None:
        return None
    if demo is not None:
        return _demo_facts(arguments, demo)
    if arguments.python or arguments.root != "/":
        option = "--python" if arguments.python else "--root"
        raise UsageError(f"{option} cannot be used with --facts: the file contains what was found on its own machine.")
    if arguments.smoke:
        raise UsageError("--smoke cannot be used with --facts: the file contains what was measured on its own machine.")
    if arguments.facts == "-" and sys.stdin is None:
        raise UsageError("Standard input is closed: no facts to read.")
    from gpudoctor.facts.facts_file import FactsFileError, read

    try:
        return read(arguments.facts)
    except FactsFileError as error:
        raise UsageError(str(error)) from None


def _demo_facts(arguments: argparse.Namespace, name: str) -> "Facts":
    """The facts of a demo.

    Raises:
        UsageError: an option that looks at this machine or at a file was given next to it.
    """
    given = {"--facts": arguments.facts, "--python": arguments.python, "--root": arguments.root != "/"}
    if others := [option for option, value in (given | {"--smoke": arguments.smoke}).items() if value]:
        raise UsageError(f"{others[0]} cannot be used with --demo, which opens a recorded machine.")
    from gpudoctor import demo

    return demo.load(name)


def machine_of(arguments: argparse.Namespace, smoke: bool = False) -> "Machine":
    """The machine that is examined.

    Args:
        arguments: with root, python and timeout.
        smoke: whether smoke tests run too, which take their own time.

    Raises:
        UsageError: the root is no folder, or a given interpreter is not there.
    """
    from gpudoctor.machine import SMOKE_SECONDS, TOTAL_SECONDS, Machine

    root = getattr(arguments, "root", "/")
    if not os.path.isdir(root):
        raise UsageError(f"--root {root} is not a directory.")
    if smoke and os.path.abspath(root) != "/":
        raise UsageError("Smoke tests cannot be used with --root: nothing is run there.")
    machine = Machine(root=root, seconds=arguments.timeout or (SMOKE_SECONDS if smoke else TOTAL_SECONDS))
    if arguments.python:
        _must_be_there(machine, arguments.python)
    return machine


def _asked_early(arguments: argparse.Namespace) -> "Machine":
    """The machine, whose interpreters are asked already: they answer while we load what judges them."""
    from gpudoctor.probes.python import ask_early, choose

    machine = machine_of(arguments, arguments.smoke)
    if machine.here:
        ask_early(machine, choose(machine, arguments.python))
    return machine


def _must_be_there(machine: "Machine", pythons: list[str]) -> None:
    """Hold that each given interpreter is there, before anything is asked."""
    from gpudoctor.probes.python import InterpreterError, choose

    if not machine.here:
        raise UsageError("--python cannot be used with --root: it would run an interpreter, and nothing is run there.")
    try:
        choose(machine, pythons)
    except InterpreterError as error:
        raise UsageError(str(error)) from None


def answered(facts: "Facts") -> "Facts":
    """Hold that each given interpreter has answered: what was found beside is of no use to who named a wrong one.

    Raises:
        UsageError: one has not; in its own words.
    """
    for python in facts.pythons:
        if python.found_by == "--python" and python.error:
            raise UsageError(python.error)
    return facts
