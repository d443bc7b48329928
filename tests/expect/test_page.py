"""docs/expectations.md: its examples are read and hold, its tables have every operator, its sentences are ours."""

import re
from pathlib import Path

import pytest

import gpudoctor
from gpudoctor.expect import ExpectFileError
from gpudoctor.expect.loader import TEXTS, loads
from gpudoctor.expect.operators import OPERATORS
from gpudoctor.toml import tomllib
from tests.cli import main

PAGE = Path(gpudoctor.__file__).parent.parent / "docs/expectations.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="not run from a source tree")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_every_example_is_read() -> None:
    examples = blocks("toml")
    assert len(examples) == 2
    for text in examples:
        assert len(loads(text, "e.toml")) == len(tomllib.loads(text)["expect"])


def test_the_table_has_every_operator_and_no_other() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Operators")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(OPERATORS)
    assert all(f"`{name}`" in table for name in TEXTS)


@pytest.mark.parametrize(
    "text",
    ['\n\n\n[expect."gpus.*.nam"]\nis = "a"', '\n\n\n[expect."gpus.*.memory"]\ncontains = "a"'],
)
def test_its_sentences_are_what_is_said(text: str) -> None:
    with pytest.raises(ExpectFileError) as caught:
        loads(text, "site.toml")
    assert f"gpudoctor: {caught.value}\n" in blocks("text")[0]


def test_its_commands_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("record", "check"):
        assert main([command, "--help"]) == 0
        known = capsys.readouterr().out
        lines = [line for line in "\n".join(blocks("sh")).splitlines() if line.startswith(f"gpudoctor {command} ")]
        assert lines
        for option in (word for line in lines for word in line.split() if word.startswith("-")):
            assert option in known
