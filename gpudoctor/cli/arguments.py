"""The argument parser: what is wrong is told in one sentence, with the nearest name."""

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from gpudoctor.cli import UsageError
from gpudoctor.cli.terminal import columns

if TYPE_CHECKING:
    from typing import TypeGuard

# Python's own texts are in English everywhere; gettext would look for a translation of each, which takes 2 ms.
setattr(argparse, "_", str)  # noqa: B010 - no name that type checkers know


class _Formatter(argparse.HelpFormatter):
    """Knows the width: argparse itself would load shutil and ask for it at every option that is added."""

    def __init__(self, prog: str, **more: Any) -> None:
        super().__init__(prog, **{"width": columns() - 2} | more)

    def _split_lines(self, text: str, width: int) -> list[str]:
        """Lines that end at blanks: argparse itself breaks an option at its hyphens, and a command anywhere."""
        from gpudoctor.report.sanitize import wrapped

        return wrapped(" ".join(text.split()), width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in self._split_lines(text, width - len(indent)))


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises UsageError; options are not abbreviated, because a new one would change them."""

    def __init__(self, **texts: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_Formatter, **texts)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and tell the first argument that nobody knows."""
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            self._refuse(rest[0], [name for name in (getattr(found, key, None) for key in ("command", "part")) if name])
        return found

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; an argument that may be left out may stand behind options too, where argparse itself gives it up."""
        found, rest = super().parse_known_args(args, namespace)
        for action in self._actions:
            late = [word for word in rest if not word.startswith("-")]
            left_out = (
                action.nargs == "?" and not action.option_strings and getattr(found, action.dest) is action.default
            )
            if left_out and late:
                rest.remove(late[0])
                setattr(found, action.dest, self._get_values(action, late[:1]))
        return found, rest

    def former(self, option: argparse.Action, *names: str) -> None:
        """Let an option be typed by names that it once had, which no help and no completion shows."""
        self._option_string_actions.update(dict.fromkeys(names, option))

    def format_help(self) -> str:
        """The help with its examples and exit codes, which nobody else loads."""
        from gpudoctor.cli.help_page import page

        return page(self)

    def _refuse(self, given: str, words: Sequence[str]) -> NoReturn:
        """Tell of an argument that is no option and has no place; `words` are the commands that stood before it."""
        parsers = [self]
        for word in words:
            parsers += [parsers[-1].commands().get(word, parsers[-1])]
        if not given.startswith("-"):
            self.error(f'Unexpected argument "{given}".{_pages(self.prog, words)}')
        options = [name for parser in reversed(parsers) for name in _options(parser)]
        near = _near(given.partition("=")[0], options)
        self.error(f'Unknown option "{given}".{near or _pages(self.prog, words)}')

    def commands(self) -> "dict[str, Parser]":
        """The parsers of the commands by name."""
        return next((dict(action.choices) for action in self._actions if _holds_commands(action)), {})

    def public_commands(self) -> dict[str, str]:
        """The short help of each command that people type; those that only programs start have none."""
        rows = (row for one in self._actions if _holds_commands(one) for row in one._choices_actions)
        return {row.dest: str(row.help) for row in rows}

    def command(self, name: str) -> "Parser":
        """The parser of a command.

        Raises:
            UsageError: there is no such command.
        """
        for action in filter(_holds_commands, self._actions):
            self._check_value(action, name)
        if name not in self.commands():
            self.error(f'Unexpected argument "{name}". See `{self.prog} --help`.')
        return self.commands()[name]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            names = list(self.public_commands() if _holds_commands(action) else action.choices)
            what = _what(action)
            near = _near(str(value), names) or f" Choose from: {', '.join(names)}."
            self.error(f'Unknown {what} "{value}".{near}')

    def _print_message(self, message: str, file: Any = None) -> None:  # noqa: ARG002 - only help and version are left
        from gpudoctor.cli.output import out

        out(message)

    def error(self, message: str) -> NoReturn:
        """Raise the sentence.

        Raises:
            UsageError: always.
        """
        text = message.removeprefix("argument ")
        option, _, missing = text.partition(": ")
        action = self._option_string_actions.get(option.partition("/")[0])
        if missing == "expected one argument" and action and action.choices:
            text += f": {', '.join(map(str, action.choices))}"
        raise UsageError(text if text.endswith((".", "?")) else f"{text[0].upper()}{text[1:]}.")


def _holds_commands(action: argparse.Action) -> "TypeGuard[argparse._SubParsersAction[Any]]":
    return isinstance(action, argparse._SubParsersAction)


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings


def _near(given: str, names: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(given, names, 1, 0.7)
    return f' Did you mean "{close[0]}"?' if close else ""


def _what(action: argparse.Action) -> str:
    """What a value is called: a command, of an option its value, else by the name of its place."""
    if _holds_commands(action):
        return "command"
    return f"{action.option_strings[0]} value" if action.option_strings else str(action.metavar or action.dest).lower()


def _pages(program: str, words: Sequence[str]) -> str:
    return f" See `{' '.join([program, *words])} --help`."
