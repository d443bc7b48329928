"""`gpudoctor checks`: all checks by area."""

import argparse

from gpudoctor.cli import OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.output import out, out_json

DESCRIPTION = """List the checks by area: all of them, those of an area, or those whose ID or title mentions a text."""


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser("checks", help="list the checks, or search their titles", description=DESCRIPTION)
    one.add_argument(
        "selector", nargs="*", metavar="ID|AREA|TEXT", help="only these checks or areas, or those that mention a text"
    )
    one.add_argument("--json", action="store_true", help="print JSON")
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the list."""
    return show(arguments.selector, arguments.json)


def show(selectors: list[str], as_json: bool = False) -> int:
    """Print the checks that were selected.

    Raises:
        UsageError: there are none.
    """
    from gpudoctor import catalogue

    text, mentioned = " ".join(selectors), False
    try:
        found = catalogue.load(catalogue.select(catalogue.ids(), selectors))
    except catalogue.SelectionError as error:
        found = catalogue.mentioning(text)
        mentioned = True
        if not found:
            raise UsageError(str(error)) from None
    if as_json:
        import json

        rows = [{"id": c.id, "title": c.title, "severity": c.severity.value, "affects": c.affects} for c in found]
        out_json(json.dumps(rows, indent=2) + "\n")
        return OK
    from gpudoctor.cli.terminal import columns
    from gpudoctor.report.sanitize import clean

    width, area = columns(), ""
    for one in found:
        if one.area != area:
            out(f"{'' if not area else chr(10)}{one.area}\n")
            area = one.area
        out(_row(one.id, one.severity.value, one.title, width))
    number = f"{len(found)} check{'s' * (len(found) != 1)}"
    mention = f" mention{'s' * (len(found) == 1)} {clean(text)}" if mentioned else ""
    out(f"\n{number}{mention}. Details: `gpudoctor explain ID`\n")
    return OK


def _row(id_: str, severity: str, title: str, width: int) -> str:
    """One check; its title goes on beneath itself where the line is too narrow."""
    import textwrap

    head = f"  {id_:<38} {severity:<6} "
    if width - len(head) < 20:
        lines = [head.rstrip(), *textwrap.wrap(title, width - 4, initial_indent=" " * 4, subsequent_indent=" " * 4)]
    else:
        lines = textwrap.wrap(title, width, initial_indent=head, subsequent_indent=" " * len(head))
    return "\n".join(lines) + "\n"
