"""The help of every command: grouped, with examples that the parser takes, and with its exit codes."""

import re

import pytest

from gpudoctor.cli import COMMANDS, FAILED, GROUPS, INCOMPLETE, OK, USAGE, _with_command, confirm, parser
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.help_texts import HELP_TEXTS
from tests.cli import gpudoctor
from tests.cli.conftest import Run
from tests.docs.test_shell_blocks import calls


def every(one: Parser, words: tuple[str, ...] = ()) -> dict[str, Parser]:
    """Each parser by the words of its command."""
    found = {" ".join(words): one}
    for name, part in one.commands().items():
        found |= every(part, (*words, name))
    return found


PARSERS = every(parser())


@pytest.fixture(autouse=True)
def _width(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_every_command_has_examples_and_exit_codes() -> None:
    assert set(HELP_TEXTS) == set(PARSERS)
    for name, text in HELP_TEXTS.items():
        assert 1 <= len(text.examples) <= 3, name
        assert text.codes, name


@pytest.mark.parametrize(
    ("name", "example"), [(name, line) for name, text in HELP_TEXTS.items() for line in text.examples]
)
def test_the_parser_takes_every_example(name: str, example: str) -> None:
    words = [_with_command(one) for one in calls(example.replace('eval "$(', "").replace(')"', ""))]
    assert any(" ".join(one).startswith(name) for one in words)
    for one in words:
        parser(one[0]).parse_args(one)


@pytest.mark.parametrize("name", PARSERS)
def test_the_help_ends_with_them(run: Run, name: str) -> None:
    ran = run(*name.split(), "--help")
    assert (ran.code, ran.err) == (0, "")
    text = HELP_TEXTS[name]
    _, examples, codes = ran.out.rsplit("\n\n", 2)
    assert [line.strip() for line in examples.splitlines()] == ["Examples:", *text.examples]
    assert [line.split()[0] for line in codes.splitlines()] == ["Exit", *text.codes]
    assert max(map(len, ran.out.splitlines())) <= 80
    assert run("help", *name.split()) == ran


def test_the_codes_are_those_of_the_code() -> None:
    assert [int(code) for code in HELP_TEXTS["check"].codes] == [OK, FAILED, USAGE, INCOMPLETE]
    own = [confirm.NOT_HERE, confirm.STEP_FAILED, confirm.DECLINED]
    assert [int(code) for code in HELP_TEXTS["fix"].codes] == [OK, USAGE, *own]


def test_the_commands_are_in_groups_a_line_each(run: Run) -> None:
    out = run("--help").out
    for title, names in GROUPS.items():
        lines = out.partition(f"\n{title}:\n")[2].partition("\n\n")[0].splitlines()
        assert [line.split()[0] for line in lines] == list(names)
        assert all(re.match(r"  \S+ +\S", line) for line in lines)
    for option in ("--python PATH", "--facts FILE", "--demo NAME", "--samples FILE", "--fleet DIR|FILE", "-V"):
        assert option in out
    assert tuple(PARSERS[""].public_commands()) == COMMANDS


def test_what_only_engines_start_is_in_no_help(run: Run) -> None:
    ran = run("fleet")
    assert ran == run("fleet", "--help")
    assert ran.code == 0
    assert list(PARSERS["fleet"].public_commands()) == ["run", "report", "merge"]
    assert not re.search(r"^ +(node|rank)\b", ran.out, re.MULTILINE)
    assert "--timeout SECONDS" in run("fleet", "node", "--help").out


def test_the_options_of_an_engine_stand_together(run: Run) -> None:
    out = run("fleet", "run", "--help").out
    slurm = out.partition("\nwith slurm:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^  (--\S+)", slurm, re.MULTILINE) == ["--partition", "--srun-option"]
    assert "--print" in out.partition("\nwith kubernetes:\n")[2].partition("\n\n")[0]


@pytest.mark.parametrize(
    ("line", "former", "now"),
    [
        ("fleet run ssh a", "--into x", "--output x"),
        ("fleet run ssh a", "--again", "--rerun"),
        ("fleet run ssh a", "--fan=7", "--jobs 7"),
        ("fleet run ssh a", "--limit 77", "--timeout 77"),
        ("fleet run slurm a", "--patience 7", "--queue-timeout 7"),
        ("fleet node", "--limit 77", "--timeout 77"),
        ("fleet rank --pairs a,b", "--limit 77", "--timeout 77"),
        ("setup pytorch", "--as shell", "--format shell"),
    ],
)
def test_former_names_of_options_hold_and_are_in_no_help(line: str, former: str, now: str) -> None:
    words = line.split()
    one = parser(words[0])
    assert one.parse_args([*words, *former.split()]) == one.parse_args([*words, *now.split()])
    help_ = PARSERS[" ".join(words[: 2 if words[0] == "fleet" else 1])].format_help()
    names = set(re.findall(r"--[a-z-]+", help_))
    assert now.split()[0] in names
    assert re.split("[ =]", former)[0] not in names


def test_without_a_command_and_a_terminal_it_checks() -> None:
    ran, checked = gpudoctor(), gpudoctor("check")
    assert (ran.code, ran.err) == (checked.code, checked.err)
    first, other = (re.sub(r"\([\d.]+ s\)", "", one.out) for one in (ran, checked))
    assert first == other
    assert first.startswith("gpudoctor ")


def test_its_options_go_to_the_check_too(facts_file: str) -> None:
    assert "\nGPUs      0  NVIDIA GeForce RTX 4090" in gpudoctor("--facts", facts_file).out
    ran = gpudoctor("--demo", "cpu-wheel")
    assert (ran.code, ran.err) == (1, "")
    assert "PyTorch is a CPU-only build" in ran.out
