"""Each shell block of the documentation: gpudoctor's parser takes its commands, and those that can run here run."""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gpudoctor.cli import OK, UsageError, _with_command, main, parser
from tests.docs import Block, blocks, pages

PROGRAMS = ("gpudoctor", "gpudoctor-cli")
# What stands on the pages and does not run in these tests: the beginning of a command, and why.
NOT_RUN = {
    "python3 -m venv": "installs from the package index; every run of the tests has done it before",
    "uvx gpudoctor-cli": "takes gpudoctor from the package index",
    "pipx run gpudoctor-cli": "takes gpudoctor from the package index",
    "pip install gpudoctor-cli": "takes gpudoctor from the package index",
    "pip install 'gpudoctor-cli": "takes gpudoctor from the package index",
    "/shared/gpudoctor/bin/pip install": "takes gpudoctor from the package index",
    "export UV_TOOL_DIR": "is of the shell alone",
    "uv tool install gpudoctor-cli": "takes gpudoctor from the package index",
    ".venv/bin/pip install build pex": "takes minutes; tests/real/test_release.py makes and runs the file",
    "docker exec": "needs a Docker daemon; the lines that are typed inside run like any others",
    "docker cp": "needs a Docker daemon; tests/real/test_release.py makes and runs the file",
    "for node in gpu001": "needs nodes; tests/real/test_release.py makes and runs the file",
    ".venv/bin/pytest": "runs the tests themselves",
    ".venv/bin/python docs/generate.py": "writes pages; tests/test_check_pages.py holds that they are fresh",
    ".venv/bin/ruff": "the gate runs it",
    ".venv/bin/gpudoctor explain device.ecc-change-pending": "is about a check that the reader writes",
    "sudo cp gpudoctor-textfile": "changes the system; tests/examples/test_systemd.py holds the files",
    "sudo systemctl enable": "changes the system; tests/examples/test_systemd.py holds the files",
    'exec "{{ gpudoctor_home }}/bin/gpudoctor"': "is a template of Ansible; tests/examples/test_page.py holds its call",
    "gpudoctor smoke": "computes for minutes; tests/smoke run every test",
    "gpudoctor check --smoke": "computes for minutes; tests/smoke run every test",
    "gpudoctor fleet run": "needs a cluster; tests/fleet/runner run each engine",
    "gpudoctor fleet report monday --cause": "names a cause of the reader's fleet; tests/cli/fleet/test_report.py does",
    "gpudoctor --": "opens the application, which needs a terminal; tests/tui run it",
    "gpudoctor serve": "opens a server; tests/tui run it",
    "gpudoctor run --": "takes over this process's signals; tests/cli/test_run.py runs it",
}
RUN_ALL_THE_SAME = ("gpudoctor smoke --list",)
# Paths of a real machine, and what stands for them here.
PLACES = {
    "/etc/gpudoctor/": "etc/gpudoctor/",
    "/opt/env/": "project/.venv/",
    "/shared/today": "today",
    '"$(command -v python3)"': sys.executable,
    "$(hostname)": "gpu03",
}


class Line(NamedTuple):
    """A line of a block as it is typed, without its comment."""

    block: Block
    number: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.block.page}:{self.number}"


def lines() -> Iterator[Line]:
    """Each line that a reader types; in a console block, that is what stands behind the prompt."""
    for block in blocks("sh", "bash", "console"):
        for number, text in enumerate(block.text.splitlines(), block.line):
            typed = text.removeprefix("$ ") if block.language == "console" else text
            if typed.strip() and (block.language != "console" or text.startswith("$ ")):
                yield Line(block, number, re.sub(r"\s+#.*", "", typed))


def calls(text: str) -> Iterator[list[str]]:
    """The words of each call of gpudoctor in a line, without the program."""
    words = shlex.shlex(text, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    current: list[str] | None = None
    before = ""
    for word in [*words, ";"]:
        if current is None:
            fetched = before in ("pip", "install", "-c")  # the name of what is installed
            current = [] if os.path.basename(word) in PROGRAMS and not fetched else None
        elif set(word) <= set("|&;<>()"):
            yield current
            current = None
        else:
            current.append(word)
        before = word


LINES = list(lines())
CALLS = [(line, words) for line in LINES for words in calls(line.text)]


def _reason(line: Line) -> str | None:
    """The key of NOT_RUN that says why a line does not run."""
    if line.text.startswith(RUN_ALL_THE_SAME):
        return None
    return next((key for key in NOT_RUN if line.text.startswith(key) or line.text == key.removesuffix(" --")), None)


def test_the_lines_are_found() -> None:
    assert len(LINES) > 60
    assert len(CALLS) > 50
    assert list(calls("a && .venv/bin/gpudoctor check --json > x | gpudoctor explain --log -")) == [
        ["check", "--json"], ["explain", "--log", "-"],
    ]  # fmt: skip
    assert list(calls("pip install gpudoctor-cli && gpudoctor check")) == [["check"]]


@pytest.mark.parametrize(("line", "words"), CALLS, ids=[f"{line.place} {' '.join(words)}" for line, words in CALLS])
def test_the_parser_takes_every_call(line: Line, words: list[str]) -> None:
    words = _with_command(words) if words else ["tui"]
    parser(words[0]).parse_args(words)


def test_every_reason_is_needed() -> None:
    used = {_reason(line) for line in LINES}
    assert used - {None} == set(NOT_RUN)


RUN = [line for line in LINES if _reason(line) is None]


@pytest.mark.parametrize("line", RUN, ids=lambda line: f"{line.place} {line.text}")
def test_what_can_run_runs(line: Line, recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = line.text
    for real, here in PLACES.items():
        text = text.replace(real, here)
    command, _, output = text.partition(" > ")
    words = [os.path.expanduser(word) for word in shlex.split(command)][1:]
    if words[0] == "record":
        words.append("--force")  # the recorded machine is no good one
    code = main(words)
    reported = capsys.readouterr()
    # Healthy, not healthy, not known; 2 is wrong usage, and for Nagios a failure.
    assert code in (OK, 1, 3, *([2] if "nagios" in words else [])), reported.err
    assert "Traceback" not in reported.err
    if output:
        assert reported.out
    for option in ("-o", "--output"):
        if option in words:
            assert (recorded / words[words.index(option) + 1]).stat().st_size > 0


# -- in prose ------------------------------------------------------------------------------------------------

# Not commands of a reader: what a sentence shortens.
SHORTENED = re.compile(r"\.\.\.|…|\bCOMMAND\b")
_INLINE = re.compile(r"`(gpudoctor [a-z][^`\n]*)`")


def inline() -> list[tuple[str, str]]:
    """Each command that stands in a sentence, with its page."""
    found = []
    for path in pages():
        prose = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        found += [(path.name, text) for text in _INLINE.findall(prose) if not SHORTENED.search(text)]
    return sorted(set(found))


# Names in capitals that stand for one of a few words.
ONE_OF = {"ENGINE": "slurm", "COMMAND": "report"}


@pytest.mark.parametrize(("page", "text"), inline(), ids=[f"{page} {text}" for page, text in inline()])
def test_the_parser_takes_what_stands_in_sentences(page: str, text: str) -> None:
    """A sentence may name a command without what it works on."""
    (words,) = calls(re.sub(r"[\[\]]", "", text))
    words = [ONE_OF.get(word, word) for word in words]
    for _ in range(3):
        try:
            parser(words[0]).parse_args(words)
        except UsageError as error:
            lacks = re.fullmatch(r"The following arguments are required: (\w+).*", str(error))
            if lacks is None:
                raise
            words.append(ONE_OF.get(lacks[1], "x"))
        else:
            return
    pytest.fail(text)
