"""`gpudoctor facts`: what was found out, unjudged, as a file that any desk can judge."""

import argparse

from gpudoctor.cli import OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.check import answered, machine_of, options_of, source
from gpudoctor.cli.output import out_json

DESCRIPTION = """Write everything known about this machine as JSON. Names of users and hosts, home directories, serial
numbers, UUIDs and secrets are masked. `gpudoctor check --facts FILE` checks such a file on any machine."""


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser("facts", help="write the facts, without verdicts, as JSON", description=DESCRIPTION)
    source(one)
    one.add_argument("--output", "-o", metavar="FILE", help="write to a file, atomically (-: standard output)")
    one.add_argument(
        "--no-mask", action="store_true", help="keep names, paths and serial numbers; secrets are masked anyway"
    )
    one.add_argument("--schema", action="store_true", help="print the JSON Schema of a facts file instead")
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Gather and write."""
    if arguments.schema:
        out_json(schema())
        return OK
    from gpudoctor.pipeline import gather
    from gpudoctor.privacy.masks import masked
    from gpudoctor.privacy.secrets import harmless
    from gpudoctor.report.sanitize import document

    facts = answered(gather(machine_of(arguments), options_of(arguments, [], [])))
    text = document(harmless(facts) if arguments.no_mask else masked(facts))
    if arguments.output not in (None, "-"):
        from gpudoctor.facts.facts_file import write

        try:
            write(arguments.output, text.encode())
        except OSError as error:
            raise UsageError(f"{arguments.output} cannot be written: {error.strerror or error}.") from None
    else:
        out_json(text)
    return OK


def schema() -> str:
    """The JSON Schema of a facts file."""
    import msgspec

    from gpudoctor.facts import Facts

    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(Facts)), indent=2).decode() + "\n"
