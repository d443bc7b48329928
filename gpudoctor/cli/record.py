"""`gpudoctor record`: what a machine that is well is like, as a file that others are held against."""

import argparse
import os

from gpudoctor.cli import FAILED, INCOMPLETE, OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.check import facts_of, judged, machine_of, source, wishes_of
from gpudoctor.cli.output import complain, out

DESCRIPTION = """Write down what this machine is like, as a file of expectations: driver, GPUs, links, frameworks and
what they see, and with --smoke how fast they are. `gpudoctor check --expect FILE` holds this or another machine against
it. A machine that fails is not written down."""


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser("record", help="write down what a good machine is like", description=DESCRIPTION)
    source(one)
    one.add_argument("--smoke", action="store_true", help="run the quick smoke tests too, and write down their rates")
    one.add_argument("--facts", metavar="FILE", help="take facts that `gpudoctor facts` wrote (- is standard input)")
    one.add_argument(
        "--output",
        "-o",
        metavar="FILE",
        help="write to a file, whole or not at all, and make its directory (-: standard output)",
    )
    one.add_argument("--force", action="store_true", help="write it although the machine is not well")
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Examine and write; gives the exit code."""
    from gpudoctor.expect.record import RecordError, recorded

    facts = facts_of(arguments)
    wishes = wishes_of(arguments, [], [])
    report, facts, _ = judged(None if facts else machine_of(arguments, arguments.smoke), wishes, facts)
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
