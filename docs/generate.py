"""Writes docs/checks/** and docs/cli.md from the checks and from the parser: `python docs/generate.py`."""

import argparse
import sys
from functools import cache
from pathlib import Path
from typing import Any

from gpudoctor import catalogue, checks
from gpudoctor.check_engine import Check
from gpudoctor.check_pages import SEVERITY, check_markdown
from gpudoctor.check_sources import module_file, rule_files, sources
from gpudoctor.cli import parser
from gpudoctor.cli.arguments import Parser

HERE = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:
    sys.path.insert(0, str(HERE.parent))

from tests.sample_findings import samples  # noqa: E402 - the checkout's, which is on no path of a script's

MADE = "<!-- Made by docs/generate.py: change the check or the option, then run it again. -->\n\n"


def pages() -> dict[str, str]:
    """Every generated page: its path under docs, and its text."""
    every = catalogue.load(checks.ids())
    found = {f"checks/{one.id.replace('.', '/')}.md": MADE + _page(one) for one in every}
    return found | {"checks/README.md": MADE + _list(), "cli.md": MADE + command_line()}


def _page(one: Check[Any]) -> str:
    return check_markdown(one, samples().get(one.id, ())) + _code(one)


def _code(one: Check[Any]) -> str:
    """Where the check is in the code."""
    lines = ["", "## In the code", "", f"- Rule: {', '.join(map(_file, rule_files(one)))}"]
    lines += [f"- Tests: {', '.join(map(_file, tests(one)))}", "- Facts, and the probes that fill them:"]
    for part, modules in sources(one).items():
        lines.append(f"    - `{part}`: {', '.join(_file(module_file(module)) for module in modules)}")
    return "\n".join(lines) + "\n"


def tests(one: Check[Any]) -> list[str]:
    """The files of tests that ask a check by its id or import it; those of its area first."""
    module = one.id.replace("-", "_")
    area = f"tests/checks/{module.partition('.')[0]}/"
    marks = f'"{one.id}"', f"from gpudoctor.checks.{module} import"
    found = [name for name, text in _test_files().items() if any(mark in text for mark in marks)]
    return sorted(found, key=lambda name: (not name.startswith(area), name))


@cache
def _test_files() -> dict[str, str]:
    files = (HERE.parent / "tests" / "checks").rglob("test_*.py")
    return {str(path.relative_to(HERE.parent)): path.read_text(encoding="utf-8") for path in files}


def _file(path: str) -> str:
    """A link from the page of a check to a file of the tree."""
    return f"[`{path}`](../../../{path})"


def _list() -> str:
    every = catalogue.load(checks.ids())
    lines = [
        "# The checks",
        "",
        f"{len(every)} checks. `gpudoctor explain ID` prints the same text; `--verbose` adds where it is in the code.",
        "",
    ]
    lines += [f"- {text}" for text in SEVERITY.values()]
    for area in dict.fromkeys(one.area for one in every):
        lines += ["", f"## {area}", "", "| id | severity | what is wrong |", "|---|---|---|"]
        for one in (c for c in every if c.area == area):
            page = one.id.replace(".", "/") + ".md"
            lines.append(f"| [`{one.id}`]({page}) | {one.severity.value} | {_cell(one.title)} |")
    return "\n".join(lines) + "\n"


def command_line() -> str:
    """The page of the command line; argparse's own help changes its layout with Python's version."""
    top = parser()
    lines = ["# The command line", "", str(top.description), "", "```", "gpudoctor COMMAND [OPTION ...]", "```", ""]
    lines += [*_table(top), "", str(top.epilog), ""]
    for name, one in top.commands().items():
        lines += _command(name, one)
        for part, of_part in one.commands().items():
            lines += _command(f"{name} {part}", of_part)
    return "\n".join([*lines, *ENVIRONMENT]) + "\n"


def _command(name: str, one: Parser) -> list[str]:
    lines = [f"{'#' * (len(name.split()) + 1)} gpudoctor {name}", "", " ".join(str(one.description).split()), ""]
    return [*lines, "```", _usage(name, one), "```", "", *_table(one, name), ""]


ENVIRONMENT = [
    "## Environment",
    "",
    "| variable | what it does |",
    "|---|---|",
    "| `NO_COLOR` | no colours, whatever else says so ([no-color.org](https://no-color.org/)) |",
    "| `FORCE_COLOR` | colours where standard output is no terminal |",
    "| `COLUMNS` | the width of the text; at least 40, and prose is never wider than 100 |",
    "| `TERM=dumb` | no colours and no progress |",
    "",
    "Progress is shown on standard error and only on a terminal. Ctrl-C, SIGTERM and SIGHUP end the run with the",
    "exit codes 130, 143 and 129, and leave no process behind. A reader that closes the pipe gives 141.",
]


def _usage(name: str, one: argparse.ArgumentParser) -> str:
    places = [_shown(action) for action in one._actions if not action.option_strings]
    return " ".join(["gpudoctor", name, *(["[OPTION ...]"] if len(one._actions) > len(places) else []), *places])


def _shown(action: argparse.Action) -> str:
    value = str(action.metavar or action.dest)
    return {"*": f"[{value} ...]", "?": f"[{value}]"}.get(str(action.nargs), value)


def _table(one: argparse.ArgumentParser, name: str = "") -> list[str]:
    lines = ["| | |", "|---|---|"]
    for action in one._actions:
        if isinstance(action, argparse._SubParsersAction):
            rows = [(choice.dest, choice.help) for choice in action._choices_actions]
            anchor = "-".join(["gpudoctor", *name.split()])
            lines += [f"| [`{part}`](#{anchor}-{part}) | {_cell(text or '')} |" for part, text in rows]
        else:
            lines.append(f"| {_names(action)} | {_cell(_help(action))} |")
    return lines


def _names(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else str(action.metavar or "|".join(map(str, action.choices or ())))
    names = action.option_strings or [""]
    return ", ".join(f"`{f'{name} {value}'.strip()}`".replace("|", "\\|") for name in names)


def _help(action: argparse.Action) -> str:
    fixed = {"help": "print the help", "version": "print the version"}
    return fixed.get(action.dest, str(action.help or ""))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def stale() -> list[str]:
    """The pages that are missing, differ from what would be written, or belong to no check any more."""
    wanted = pages()
    there = {str(p.relative_to(HERE)) for p in (HERE / "checks").rglob("*.md")} | {"cli.md"}
    differ = {name for name, text in wanted.items() if not (HERE / name).is_file() or _read(name) != text}
    return sorted(differ | (there - set(wanted)))


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def main() -> int:
    """Write what is stale and take away what is left over."""
    wanted = pages()
    for name in stale():
        path = HERE / name
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[name], encoding="utf-8")
        else:
            path.unlink()
        print(name)  # noqa: T201 - a tool for people
    return 0


if __name__ == "__main__":
    sys.exit(main())
