"""What the detail says, line by line, and which commands it offers."""

from __future__ import annotations

import msgspec
import pytest
from rich.cells import cell_len

from gpudoctor.report.model import FixEntry, Report
from gpudoctor.tui.diagnosis.items import ItemGroup, groups
from gpudoctor.tui.diagnosis.lines import INDENT, DetailLine, folded, hanging, typed
from gpudoctor.tui.diagnosis.page import STYLES, Page, commands_of, notes, nothing, page
from tests.tui.diagnosis.machines import MISMATCH, REPORT, TIGHT, VERDICTS

ALL = groups(REPORT, VERDICTS)


def text(shown: Page) -> str:
    return "\n".join(f"{line.label:<{INDENT}}{line.text}".rstrip() for line in shown.lines)


FOUND = """\
FAIL       The module is 550.90.07, the libraries are 550.107.02.
again      Still there.

fix        Reboot.
1          sudo reboot
note       needs root
verify     nvidia-smi

or         Reload the module.
1          sudo rmmod nvidia
2          sudo modprobe nvidia
note       needs root and a new login; careful: data loss
note       Undo: Restart.
verify     nvidia-smi

cause      An upgrade replaced the files.
evidence   NVML: Driver/library version mismatch (18)
           cuInit: 803

effects    - PyTorch sees no GPU.
           - JAX sees no GPU. (2 times)
see        https://docs.nvidia.com/deploy/nvml-api/
applies to this machine
id         driver.library-mismatch
ruled out  driver.not-loaded"""


@pytest.mark.parametrize("group", ALL, ids=lambda group: group.root.key)
def test_the_label_of_a_headline_has_the_colour_of_its_status(group: ItemGroup) -> None:
    for item in (group.root, *group.consequences):
        lines = page(item, 60).lines
        assert lines[0].look == f"heading {STYLES.get(item.status, 'dim')}"
        assert {line.look for line in lines if line.label in ("why", "seen", "fix", "id")} == {"heading label"}


def test_a_finding_is_told_whole() -> None:
    assert text(page(ALL[0].root, 80, "Still there.")) == FOUND


def test_each_line_of_a_command_knows_which_it_is() -> None:
    shown = page(ALL[0].root, 80)
    of = [shown.commands[line.command].text for line in shown.lines if line.command is not None]
    assert of == [line.text for line in shown.lines if line.command is not None]
    assert [(c.text, c.fix, c.verifies) for c in shown.commands] == [
        ("sudo reboot", 0, False),
        ("nvidia-smi", 0, True),
        ("sudo rmmod nvidia", 1, False),
        ("sudo modprobe nvidia", 1, False),
        ("nvidia-smi", 1, True),
    ]


def test_a_consequence_names_its_cause() -> None:
    shown = text(page(ALL[0].consequences[1], 80))
    assert "effect     JAX sees no GPU." in shown
    assert "This is a consequence of: The libraries do not match the module." in shown
    assert "applies to JAX 0.7, JAX 0.6" in shown
    assert page(ALL[0].consequences[1], 80).commands == ()


OTHERS = [
    (2, "broken     The probe of docker"),
    (3, "why        NVML: Not Supported"),
    (4, "pass       Not found: The module is not loaded"),
    (5, "skipped    This check does not apply to this machine."),
]


@pytest.mark.parametrize(("number", "line"), OTHERS)
def test_what_is_no_finding_says_so(number: int, line: str) -> None:
    shown = text(page(ALL[number].root, 80)).splitlines()
    assert line in shown
    assert ("id         " + ALL[number].root.check in shown) == (number != 2)


NOTES = [
    (FixEntry("Do."), []),
    (FixEntry("Do.", needs="a new login"), ["needs a new login"]),
    (FixEntry("Do.", ("sudo reboot",), needs="reboot"), []),
    (FixEntry("Do.", needs="reboot"), ["needs a reboot"]),
    (FixEntry("Do.", undo="undo it"), ["Undo: undo it"]),
    (TIGHT, ["needs root and a new login; careful: data loss", "Undo: Restart."]),
]


@pytest.mark.parametrize(("fix", "said"), NOTES)
def test_notes_say_what_one_has_to_know_before(fix: FixEntry, said: list[str]) -> None:
    assert notes(fix) == said


def test_a_hostile_string_is_shown_harmless_and_copied_as_it_is_shown() -> None:
    evil = "echo \x1b[2J\u202e[bold]x[/bold]"
    entry = msgspec.structs.replace(MISMATCH, fixes=(FixEntry("Do.", (evil,)),))
    item = msgspec.structs.replace(ALL[0].root, finding=entry)
    shown = page(item, 80)
    assert commands_of(entry)[0].text == "echo \\x1b[2J\\u202e[bold]x[/bold]"
    assert commands_of(entry)[0].text in [line.text for line in shown.lines]


@pytest.mark.parametrize("width", [20, 33, 80])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    wide = msgspec.structs.replace(MISMATCH, message="/a/very/long/path/" + "漢字" * 40, evidence=("x" * 200,))
    shown = page(msgspec.structs.replace(ALL[0].root, finding=wide), width)
    assert max(cell_len(line.text) for line in shown.lines) <= width - 8


def test_folding_loses_nothing() -> None:
    assert "".join(folded("x" * 100, 30)) == "x" * 100
    assert folded("", 30) == [""]
    assert folded("a\n\nb", 30) == ["a", "", "b"]
    assert hanging("why", "", 30) == [DetailLine("why", "")]


def test_blanks_in_a_command_stay() -> None:
    lines = typed("1", "echo 'a    b'   c  ", 20, 0)
    assert "".join(line.text for line in lines) == "echo 'a    b'   c  "
    assert [line.label for line in lines] == ["1", "", ""]
    assert typed("1", "", 20, 0) == [DetailLine("1", "", "command", 0)]


def test_nothing_found_says_what_was_proven_and_offers_the_smoke_tests() -> None:
    report = Report(status="pass", next=("CUDA starts.", "Too little: --verbose lists it."))
    shown = nothing(report, False, None, 80)
    assert text(shown).splitlines()[0] == "PASS       No problems found; no framework was checked"
    assert "next       CUDA starts." in text(shown)
    assert "--verbose" not in text(shown)
    assert [line.press for line in shown.lines if line.label == "3"] == ["app.go('smoke')"]
    assert "p  " not in text(shown)


def test_nothing_found_where_not_all_is_known_is_no_pass() -> None:
    shown = nothing(Report(status="incomplete", unknown=REPORT.unknown), False, None, 80)
    assert text(shown).splitlines()[0] == "INCOMPLETE No problems found, but some facts are unknown"
    assert "screen.others" in [line.press for line in shown.lines]


def test_without_a_gpu_nothing_reads_as_a_pass() -> None:
    shown = nothing(Report(status="no-gpu"), False, None, 80)
    assert text(shown).splitlines()[0] == "NO GPU     No GPU is available to programs here, so none was checked"


STATES = [
    ((None, True, None), "The probes are running."),
    ((REPORT, True, None), "The probes are running."),
    ((None, False, "ValueError: x"), "ValueError: x"),
    ((REPORT, False, None, 80, True), "Esc clears the search."),
]


@pytest.mark.parametrize(("given", "words"), STATES)
def test_an_empty_list_says_why_it_is_empty(given: tuple[object, ...], words: str) -> None:
    arguments = given if len(given) == 5 else (*given, 80)
    assert words in text(nothing(*arguments))  # type: ignore[arg-type]
