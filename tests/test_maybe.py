"""What is unknown may be in no sentence: what leaves it out, and what refuses it."""

import subprocess
import sys
from pathlib import Path

import pytest

from gpudoctor.maybe import Unknown, UnknownFactError, phrase, phrases, present, text_of

ROOT = Path(__file__).parents[1]
WHY = Unknown("NVML: Not Supported")
# What mypy has to refuse and to let pass, a line each; the comment says what it calls the first.
SENTENCES = """
from gpudoctor.maybe import Maybe, phrase

def told(fact: Maybe[int | None], found: int | None, name: str) -> list[str]:
    return [
        f"{fact} MHz",  # Unknown
        str(fact),  # Unknown
        "{} MHz".format(fact),  # Unknown
        f"{found} MHz",  # None
        phrase("{} MHz", fact),
        f"{fact} MHz" if isinstance(fact, int) else "",
        f"{name}: {found}" if found is not None else name,
    ]
"""


def test_a_part_of_which_something_is_missing_is_left_out() -> None:
    assert phrase(" at {} of {} MHz", 300, 2520) == " at 300 of 2520 MHz"
    assert phrase(" at {} of {} MHz", 300, None) == phrase(" at {} of {} MHz", WHY, 2520) == ""
    assert phrase(" ({:.0f} W)", 0.0) == " (0 W)"
    assert phrases(phrase("{}", WHY), "what is known", "") == ("what is known",)
    assert (text_of("x"), text_of(None), text_of(WHY)) == ("x", "", "")


def test_what_nothing_can_be_said_without() -> None:
    assert present(0) == 0
    for fact, why in ((WHY, "NVML: Not Supported"), (None, "there is none")):
        with pytest.raises(UnknownFactError, match=why):
            present(fact)


def test_the_tests_print_nothing_unknown_and_a_user_reads_a_word() -> None:
    with pytest.raises(AssertionError, match="prints what is unknown"):
        f"{WHY}"
    code = "from gpudoctor.maybe import Unknown; print(Unknown('why'), f'{Unknown():>9}')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == [
        "unknown",
        "unknown",
    ]


def test_mypy_refuses_to_print_it(tmp_path: Path) -> None:
    made = tmp_path / "made.py"
    made.write_text(SENTENCES, encoding="utf-8")
    there = "gpudoctor/queries/windows.py"
    argv = [
        sys.executable,
        "-m",
        "mypy",
        "--cache-dir",
        str(tmp_path / "cache"),
        "--shadow-file",
        there,
        str(made),
        there,
    ]
    said = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    wanted = [(n, line.rpartition("# ")[2]) for n, line in enumerate(SENTENCES.splitlines(), 1) if "# " in line]
    assert [line.split(",")[0] for line in said.splitlines() if "error:" in line] == [
        f"{there}:{number}: error: This may be {what}" for number, what in wanted
    ]
