"""`gpudoctor facts`: what was found out, unjudged, as a file that any desk can judge."""

import argparse
from typing import TYPE_CHECKING

from gpudoctor.cli import OK, UsageError, out
from gpudoctor.cli.check import machine_of, source, wishes_of

if TYPE_CHECKING:
    from gpudoctor.facts import Facts

DESCRIPTION = """Write everything that was found out about this machine as JSON. Names of user and host, home folders,
serial numbers and secrets are masked. `gpudoctor check --facts FILE` judges such a file on any machine."""


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser("facts", help="write what was found out, unjudged, as JSON", description=DESCRIPTION)
    source(one)
    one.add_argument("--output", "-o", metavar="FILE", help="write to a file, whole or not at all")
    one.add_argument("--no-mask", action="store_true", help="leave names, paths and serial numbers as they are")
    one.add_argument("--schema", action="store_true", help="print the JSON Schema of a facts file instead")
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Gather and write."""
    if arguments.schema:
        out(schema())
        return OK
    from gpudoctor.examine import gather

    text = document(gather(machine_of(arguments), wishes_of(arguments, [], [])), mask=not arguments.no_mask)
    if arguments.output:
        from gpudoctor.facts.file import write

        try:
            write(arguments.output, text.encode())
        except OSError as error:
            raise UsageError(f"{arguments.output} cannot be written: {error.strerror or error}.") from None
    else:
        out(text)
    return OK


def document(facts: "Facts", mask: bool) -> str:
    """The facts as indented JSON."""
    import msgspec

    from gpudoctor.mask import masked
    from gpudoctor.report.clean import clean_json

    data = msgspec.json.encode(masked(facts) if mask else facts)
    return clean_json(msgspec.json.format(data, indent=2)).decode() + "\n"


def schema() -> str:
    """The JSON Schema of a facts file."""
    import msgspec

    from gpudoctor.facts import Facts

    return msgspec.json.format(msgspec.json.encode(msgspec.json.schema(Facts)), indent=2).decode() + "\n"
