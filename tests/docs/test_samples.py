"""The output that a page shows of a recorded machine is what the command prints."""

import re
import shlex

import pytest

from gpudoctor.cli import main
from tests.docs import Block, blocks

# What differs from run to run, and from one new check to the next.
_CHANGES = re.compile(r"\d+\.\d s|\d+(?= passed)")
SHOWN = [block for block in blocks("console") if re.match(r"\$ gpudoctor .*--demo ", block.text)]


def test_there_is_one() -> None:
    assert [block.page for block in SHOWN][:1] == ["README.md"]


@pytest.mark.parametrize("block", SHOWN, ids=lambda block: block.place)
def test_the_sample_is_what_the_command_prints(
    block: Block, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command, _, shown = block.text.partition("\n")
    monkeypatch.setenv("COLUMNS", "80")
    main(shlex.split(command)[2:])
    printed = capsys.readouterr().out
    assert _CHANGES.sub("", printed).rstrip() == _CHANGES.sub("", shown).rstrip()
