"""`gpudoctor explain ID`: what a check looks for, why it happens, how it is mended, and where the rule comes from."""

import argparse

from gpudoctor.cli import OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.output import out


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    text = "Explain a check: what it looks for, why it happens, how it is mended, where the rule comes from."
    one = commands.add_parser("explain", help="explain a check", description=text)
    one.add_argument("id", metavar="ID", help="a check, such as driver.library-mismatch")
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one check's page."""
    from gpudoctor import catalogue
    from gpudoctor.cli.terminal import columns
    from gpudoctor.pages import check_page

    every = catalogue.ids()
    wanted = [arguments.id] if arguments.id in every else catalogue.renamed(arguments.id)
    if not wanted:
        if arguments.id in {id_.split(".")[0] for id_ in every}:
            raise UsageError(f'"{arguments.id}" is an area: `gpudoctor checks {arguments.id}` lists its checks.')
        hint = catalogue.nearest(arguments.id, every)
        raise UsageError(f'There is no check "{arguments.id}".{hint}')
    out(check_page(catalogue.load(wanted)[0], width=min(columns(), 100)))
    return OK
