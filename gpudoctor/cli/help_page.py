"""The help of a command, as --help prints it: in groups, with examples and exit codes at its end."""

import argparse
import textwrap
from collections.abc import Iterable
from copy import copy

from gpudoctor.cli import COMMANDS, GROUPS
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.help_texts import HELP_TEXTS
from gpudoctor.cli.terminal import columns


def page(one: Parser) -> str:
    """The help of a parser."""
    _, *words = one.prog.split()
    head = one._get_formatter()
    head.add_usage(one.usage, one._actions, one._mutually_exclusive_groups)
    head.add_text(one.description)
    options = one._get_formatter()
    for group in one._action_groups:
        _section(
            options,
            group.title,
            (one for one in group._group_actions if not isinstance(one, argparse._SubParsersAction)),
        )
    if not words:
        _section(options, "options without a command (see gpudoctor tui --help)", _short(one.commands()["tui"]))
    parts = [head.format_help(), *_commands(one), options.format_help(), _end(" ".join(words))]
    return "\n".join(part for part in parts if part)


def _section(formatter: argparse.HelpFormatter, title: str | None, actions: Iterable[argparse.Action]) -> None:
    formatter.start_section(title)
    formatter.add_arguments(actions)
    formatter.end_section()


def _commands(one: Parser) -> list[str]:
    """The commands of a parser, those of the program by what they are for; a line each where the screen is wide."""
    found = grouped_commands(one)
    width = max((len(name) for rows in found.values() for name, _ in rows), default=0) + 4
    return [
        "\n".join(
            [
                f"{title}:",
                *(
                    textwrap.fill(
                        help_,
                        columns() - 2,
                        initial_indent=f"  {name}".ljust(width),
                        subsequent_indent=" " * width,
                        break_on_hyphens=False,
                    )
                    for name, help_ in rows
                ),
                "",
            ]
        )
        for title, rows in found.items()
    ]


def grouped_commands(one: Parser) -> dict[str, list[tuple[str, str]]]:
    """The commands that people type, with their help, by the title of their group; empty where there are none."""
    rows = one.public_commands()
    groups = GROUPS if set(rows) == set(COMMANDS) else {"commands": tuple(rows)}
    return {title: [(name, rows[name]) for name in names] for title, names in groups.items() if names}


def _short(one: Parser) -> Iterable[argparse.Action]:
    """The options of a command, each with the first words of its help."""
    for action in one._actions:
        if action.dest != "help":
            shown = copy(action)
            shown.help = (action.help or "").partition(" (")[0].partition(";")[0]
            yield shown


def _end(name: str) -> str:
    text = HELP_TEXTS[name]
    width = max(map(len, text.codes))
    lines = ["Examples:", *(f"  {line}" for line in text.examples), "", "Exit codes:"]
    return "\n".join([*lines, *(f"  {code:<{width}}  {meaning}" for code, meaning in text.codes.items()), ""])
