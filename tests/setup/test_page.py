"""docs/setup.md: its commands are taken, its example is what is printed, its tables have every form and exit code."""

import re
import shlex
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor.cli import setup
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.help_texts import HELP_TEXTS
from gpudoctor.setup.exporters import FORMS
from gpudoctor.setup.planner import plan
from gpudoctor.setup.request import SetupRequest
from gpudoctor.setup.text import render
from tests.setup.grounds import machine

PAGE = (Path(gpudoctor.__file__).parent.parent / "docs/setup.md").read_text(encoding="utf-8")


def _block(kind: str) -> str:
    return PAGE.partition(f"```{kind}\n")[2].partition("```")[0]


@pytest.mark.parametrize("line", [line for line in _block("sh").splitlines() if line])
def test_its_commands_are_taken(line: str) -> None:
    parser = Parser(prog="gpudoctor")
    setup.add(parser.add_subparsers(parser_class=Parser))
    found = parser.parse_args(shlex.split(line, comments=True)[1:])
    assert found.frameworks


def test_its_example_is_what_is_printed() -> None:
    found = plan(machine("blackwell"), SetupRequest(frameworks=("torch", "tensorflow")))
    assert _block("text") in render(found)


def test_its_tables_have_every_form_and_every_exit_code() -> None:
    forms = PAGE.partition("| `--format` |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([\w.-]+)` \|", forms, re.MULTILINE) == list(FORMS)
    assert "".join(HELP_TEXTS["setup"].codes) == "02345"
    assert "".join(HELP_TEXTS["fix"].codes) == "02345"
    tables = re.findall(r"^\| (\d) \|", PAGE, re.MULTILINE)
    assert "".join(tables) == "023450345"
