"""Texts of digits as numbers: those of machines are anything, and `int` takes neither "²" nor ten thousand digits."""

import re
from collections.abc import Iterable

MOST = 18  # digits: what every word of 64 bits holds


def number_of(text: str) -> int | None:
    """The whole number that a text is; None where it is anything but ASCII digits, or more than any counter has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST else None


def numbers_in(text: str) -> tuple[int, ...]:
    """All numbers in a text, for an order of kernel releases with their builds: "6.8.0-60-generic" is (6, 8, 0, 60)."""
    return tuple(int(part) for part in re.findall(r"[0-9]{1,9}", text))


def in_runs(numbers: Iterable[int]) -> str:
    """Numbers in few words, for a sentence: "0-3, 6, 7"; two that follow each other are no run."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
