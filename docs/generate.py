"""Writes docs/checks/**, docs/cli.md, the scripts of Tab completion and the index of targets, from checks and parser.

Usage: python docs/generate.py
"""

import argparse
import sys
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpudoctor import catalogue, checks
from gpudoctor.check_engine import Check
from gpudoctor.check_pages import SEVERITY, check_markdown
from gpudoctor.check_sources import module_file, rule_files, sources
from gpudoctor.cli import parser
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.help_page import grouped_commands
from gpudoctor.cli.help_texts import HELP_TEXTS
from gpudoctor.targets import machine
from scripts.completions import completions

SCRIPTS = "../gpudoctor/cli/completions/"
TARGETS = "../gpudoctor/target_index.py"
HERE = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:
    sys.path.insert(0, str(HERE.parent))

from tests.sample_findings import samples  # noqa: E402 - the checkout's, which is on no path of a script's

MADE = "<!-- Made by docs/generate.py: change the check or the option, then run it again. -->\n\n"


def pages() -> dict[str, str]:
    """Every generated page: its path under docs, and its text."""
    every = catalogue.load(checks.ids())
    found = {f"checks/{one.id.replace('.', '/')}.md": MADE + _page(one) for one in every}
    found |= {"checks/README.md": MADE + _list(), "checks/validated.md": MADE + _validated()}
    return found | {"cli.md": MADE + command_line()}


def _validated() -> str:
    sys.path.insert(0, str(HERE))  # where somebody else than Python itself has loaded this file
    from validated import page

    return str(page())


def files() -> dict[str, str]:
    """Every generated file: the pages, the scripts that `gpudoctor completion` prints, and the index of targets."""
    return pages() | {SCRIPTS + name: text for name, text in completions().items()} | {TARGETS: target_index()}


def target_index() -> str:
    """The module that names the targets of each check, where a shared function gives them and may give none."""
    found: dict[str, list[str]] = {}
    for one in catalogue.load(checks.ids()):
        function, given = getattr(one.targets, "func", one.targets), getattr(one.targets, "keywords", {})
        module, name = function.__module__, function.__qualname__
        shared = module.startswith(("gpudoctor.targets", "gpudoctor.queries.")) and name not in ("machine", "pythons")
        if shared and set(given) <= {"name"}:
            place = ":".join([module.removeprefix("gpudoctor."), name, *given.values()])
            found.setdefault(place, []).append(one.id)
    lines = [
        '"""The targets of checks by function, and what each finds nothing without; made by docs/generate.py."""',
        "",
        "# ruff: noqa: E501",
        "",
        "TARGETS = {",
    ]
    for place, ids in sorted(found.items()):
        parts = textwrap.wrap(" ".join(ids), 109, break_on_hyphens=False)
        if len(parts) == 1 and len(place) + len(parts[0]) < 108:
            lines.append(f'    "{place}": "{parts[0]}",')
        else:
            texts = [f'        "{part} "' for part in parts[:-1]]
            lines += [f'    "{place}": (', *texts, f'        "{parts[-1]}"', "    ),"]
    return "\n".join([*lines, "}", *_only_with({id_: place for place, ids in found.items() for id_ in ids})]) + "\n"


def _only_with(targets: Mapping[str, str]) -> Iterator[str]:
    """For each check that says what it finds nothing without: its targets, on which it passes then, and that."""
    yield "# fmt: off"
    yield "# The function of the targets on which a check passes where one of the rest is missing; empty: it has none."
    yield "ONLY_WITH = {"
    for one in catalogue.load(checks.ids()):
        if one.only_with:
            function = getattr(one.targets, "func", one.targets)
            every = "targets:pythons" if "OnPython" in str(function.__annotations__.get("return")) else ""
            place = targets.get(one.id, "targets:machine" if function is machine else every)
            parts = ", ".join(f'"{part}"' for part in (place, *one.only_with))
            yield f'    "{one.id}": ({parts}),'
    yield "}"


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
        "[What each check was seen on](validated.md) lists the evidence for each.",
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
    lines = ["# The command line", "", str(top.description), "", "```", "gpudoctor [COMMAND] [OPTION ...]", "```", ""]
    lines += [*_tables(top), *_end("")]
    for name, one in _public(top):
        lines += _command(name, one)
        for part, of_part in _public(one):
            lines += _command(f"{name} {part}", of_part)
    return "\n".join([*lines, *ENVIRONMENT]) + "\n"


def _command(name: str, one: Parser) -> list[str]:
    lines = [f"{'#' * (len(name.split()) + 1)} gpudoctor {name}", "", " ".join(str(one.description).split()), ""]
    return [*lines, "```", _usage(name, one), "```", "", *_tables(one, name), *_end(name)]


def _public(one: Parser) -> list[tuple[str, Parser]]:
    """The commands that people type."""
    return [(name, one.command(name)) for name in one.public_commands()]


def _end(name: str) -> list[str]:
    """The examples and the exit codes."""
    text = HELP_TEXTS[name]
    codes = [f"| {code if code[0].isalpha() else f'`{code}`'} | {meaning} |" for code, meaning in text.codes.items()]
    return ["Examples:", "", "```", *text.examples, "```", "", "| exit code | |", "|---|---|", *codes, ""]


ENVIRONMENT = [
    "## Environment",
    "",
    "| variable | what it does |",
    "|---|---|",
    "| `NO_COLOR` | no colours, whatever else says so ([no-color.org](https://no-color.org/)) |",
    "| `FORCE_COLOR` | colours where standard output is no terminal |",
    "| `COLUMNS` | the width of the text; at least 40, and prose is never wider than 100 |",
    "| `TERM=dumb` | no colours and no progress |",
    "| `PYTHONHOME` | where it names another Python, no program of a virtual environment starts, gpudoctor neither: "
    "`env -u PYTHONHOME gpudoctor check` |",
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


_HEAD = ("| | |", "|---|---|")


def _tables(one: Parser, name: str = "") -> list[str]:
    """The commands by group, then the arguments; the options of an engine after a line that names it."""
    anchor = "-".join(["gpudoctor", *name.split()])
    lines = []
    for title, rows in grouped_commands(one).items():
        cells = [f"| [`{part}`](#{anchor}-{part}) | {_cell(text)} |" for part, text in rows]
        lines += [f"| {title.capitalize()} | |", "|---|---|", *cells, ""]
    lines += _HEAD
    for group in one._action_groups:
        shown = [action for action in group._group_actions if not isinstance(action, argparse._SubParsersAction)]
        if shown and group.title not in ("positional arguments", "options"):
            lines += ["", f"Options {group.title}:", "", *_HEAD]
        lines += [f"| {_names(action)} | {_cell(_help(action))} |" for action in shown]
    return [*lines, ""]


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
    wanted = files()
    there = {str(p.relative_to(HERE)) for p in (HERE / "checks").rglob("*.md")} | {"cli.md"}
    differ = {name for name, text in wanted.items() if not (HERE / name).is_file() or _read(name) != text}
    return sorted(differ | (there - set(wanted)))


def _read(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def main() -> int:
    """Write what is stale and take away what is left over."""
    wanted = files()
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
