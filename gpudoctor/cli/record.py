"""`gpudoctor record`: a healthy machine as a file of expectations, which others are compared with."""

import argparse
import os

from gpudoctor.cli import FAILED, INCOMPLETE, OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.check import facts_of, judged, machine_of, options_of, source
from gpudoctor.cli.output import complain, out

DESCRIPTION = """Record this machine as an expectations file: driver, GPUs, links, frameworks and the GPUs that they
see, and with --smoke their speed. `gpudoctor check --expect FILE` compares this or another machine with it. A machine
that fails is not recorded."""


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser("record", help="record a healthy machine as expectations", description=DESCRIPTION)
    source(one)
    one.add_argument("--smoke", action="store_true", help="also run the quick smoke tests and record their rates")
    one.add_argument("--facts", metavar="FILE", help="use facts written by `gpudoctor facts` (-: standard input)")
    one.add_argument(
        "--output",
        "-o",
        metavar="FILE",
        help="write to a file, atomically, and create its directory (-: standard output)",
    )
    one.add_argument("--force", action="store_true", help="record even if the machine is not healthy")
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Examine and write; gives the exit code."""
    from gpudoctor.expect.record import RecordError, recorded

    facts = facts_of(arguments)
    options = options_of(arguments, [], [])
    report, facts, _ = judged(None if facts else machine_of(arguments, arguments.smoke), options, facts)
    try:
        text = recorded(facts, report, arguments.force)
    except RecordError as error:
        complain(str(error))
        return FAILED if error.report.failed else INCOMPLETE
    if arguments.output in (None, "-"):
        out(text)
        return OK
    from gpudoctor.facts.facts_file import write

    try:
        if folder := os.path.dirname(arguments.output):
            os.makedirs(folder, exist_ok=True)  # nothing else makes /etc/gpudoctor/expect.d
        write(arguments.output, text.encode())
    except OSError as error:
        raise UsageError(f"{arguments.output} cannot be written: {error.strerror or error}.") from None
    return OK
