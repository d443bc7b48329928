"""How a command is broken, and that it is whole again where it is selected."""

import shlex
import subprocess

import pytest
from rich.cells import cell_len

from gpudoctor.tui.diagnosis.lines import GOES_ON, INDENT, SHELL_GOES_ON, DetailLine, hanging, selected, typed

LONG = "pip install torch torchvision torchaudio --index-url https://download.pytorch.org/whl/cu128"
CUT = f"  {SHELL_GOES_ON}\n"
COMMANDS = [
    LONG,
    "echo   'a    b'   c  ",
    "sudo rm -f '/a directory/with a long name/that does not fit/libcuda.so.1' /etc/ld.so.conf.d/cuda.conf",
    'printf "%s\\n" "one two three four five six seven eight nine ten" > /tmp/file',
    "cp a\\ file\\ with\\ many\\ blanks\\ in\\ its\\ name another\\ file",
    "echo one two three # and a comment that goes on and on and on and on",
    "cat > /etc/x.conf <<'EOF'\noptions nvidia NVreg_OpenRmEnableUnsupportedGpus=1 and so on\nEOF",
    "echo " + "x" * 90,
    "",
]


@pytest.mark.parametrize("width", [20, 40, 57, 80])
@pytest.mark.parametrize("command", COMMANDS)
def test_the_parts_put_together_are_the_command_and_fit(command: str, width: int) -> None:
    lines = typed("1", command, width, 0)
    joined = "".join(line.text + ("" if line.mark else "\n") for line in lines)
    assert joined == command + "\n"
    assert max(cell_len(line.text + line.mark) for line in lines) <= max(8, width - INDENT)
    assert [line.label for line in lines] == ["1", *[""] * (len(lines) - 1)]


@pytest.mark.parametrize("width", [57, 80, 100])
@pytest.mark.parametrize("command", COMMANDS[:-2])
def test_no_word_is_cut_that_fits_in_a_line(command: str, width: int) -> None:
    words = command.split()
    assert [word for line in typed("1", command, width, 0) for word in line.text.split()] == words


@pytest.mark.parametrize("width", [40, 57, 80])
@pytest.mark.parametrize("command", COMMANDS[:6])
def test_what_a_terminal_selects_runs_as_the_command_where_the_marks_are_a_shells(command: str, width: int) -> None:
    lines = typed("1", command, width, 0)
    shown = "\n".join(" " * INDENT + line.text + line.mark for line in lines)
    if GOES_ON not in shown:
        seen = subprocess.run(
            ["sh", "-c", shown.replace(command.split()[0], "printf '<%s>'", 1)], capture_output=True, check=True
        )
        whole = subprocess.run(
            ["sh", "-c", command.replace(command.split()[0], "printf '<%s>'", 1)], capture_output=True, check=True
        )
        assert seen.stdout == whole.stdout


@pytest.mark.parametrize(
    ("command", "mark"),
    [
        (LONG, SHELL_GOES_ON),
        ("echo '" + "word " * 20 + "'", GOES_ON),
        ("echo # " + "word " * 20, GOES_ON),
        ("echo " + "x" * 90, GOES_ON),
    ],
)
def test_the_mark_is_a_shells_only_where_a_shell_reads_it_so(command: str, mark: str) -> None:
    assert mark in [line.mark for line in typed("1", command, 60, 0)]


def test_a_selected_command_is_one_line_without_number_and_marks() -> None:
    lines = [*hanging("fix", "Install it.", 50), *typed("1", LONG, 50, 0), *typed("2", "reboot", 50, 1)]
    rows = len(typed("1", LONG, 50, 0))
    assert rows > 2
    assert selected(lines, None, None) == f"fix        Install it.\n{LONG}\nreboot"
    assert selected(lines, (0, 1), (50, rows)) == LONG
    assert shlex.split(selected(lines, (3, 1), (50, rows))) == shlex.split(LONG)
    assert selected(lines, (INDENT + 4, 1), (INDENT + 11, 1)) == "install"
    assert selected([], None, None) == ""
    assert selected([DetailLine("a", "b")], (0, 0), (3, 7)) == "a          b"
