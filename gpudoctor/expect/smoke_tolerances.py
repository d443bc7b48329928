"""What the smoke tests measured on a machine that is well, with the room that the next measurement needs."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from gpudoctor.expect.toml_writer import TomlEntry
from gpudoctor.facts import Facts, Figure, SmokeRun, SmokeTest
from gpudoctor.queries.smoke.speed import busy
from gpudoctor.smoketests.suite import COMPARE, DTYPES

# GPUs of one kind differ by some 5 % from one another (https://github.com/stas00/ml-engineering, compute/accelerator).
MARGIN = 0.10
# Where the samples of one measurement vary more: three standard deviations, the limits of a control chart.
# https://www.itl.nist.gov/div898/handbook/pmc/section3/pmc31.htm
SIGMAS = 3
TOO_WIDE = 0.5  # then the figure says nothing
RULE = (
    "Rates have a margin: 10%, because GPUs of the same model differ by about 5%, or three standard deviations of",
    "the samples if they vary more (control limits, NIST/SEMATECH e-Handbook 6.3.1). The slowest device counts.",
    "They are checked by `gpudoctor check --smoke`; without it they are unknown, and the exit code is 3.",
)


class Rate(NamedTuple):
    """One measured rate, and the least that the next one should be."""

    run: SmokeRun
    figure: Figure
    margin: float

    @property
    def least(self) -> float:
        """Three digits, rounded down."""
        value = self.figure.value * (1 - self.margin)
        digit = 10.0 ** (math.floor(math.log10(value)) - 2)
        return float(f"{math.floor(value / digit) * digit:.6g}")


def measured_entries(facts: Facts) -> Iterator[TomlEntry]:
    """Every rate that a GPU reached while nobody else used it; the lowest where GPUs of one name are alike."""
    runs = [run for run in facts.smoke.runs if run.kind != "cpu" and busy(run) is not True]
    alike = len({run.name for run in runs if run.gpu}) <= 1
    rates: dict[str, list[Rate]] = {}
    for run in runs:
        for test in run.tests:
            for figure in test.figures if test.outcome == "done" and test.name != COMPARE else ():
                if _held(figure):
                    rates.setdefault(_path(run, test, figure, alike), []).append(Rate(run, figure, margin(figure)))
    rule: tuple[str, ...] = RULE
    for path, found in rates.items():
        worst = min(found, key=lambda rate: rate.least if rate.margin < TOO_WIDE else 0.0)
        if worst.margin < TOO_WIDE:
            yield TomlEntry(path, "at_least", worst.least, _said(worst), above=rule)
            rule = ()


def _held(figure: Figure) -> bool:
    return figure.unit.endswith("/s") and not figure.name.startswith("cpu") and figure.value > 0


def _path(run: SmokeRun, test: SmokeTest, figure: Figure, alike: bool) -> str:
    device = () if alike or run.gpu is None else (run.label,)
    name = f"{test.name} {test.variant}" if test.variant in DTYPES else test.name  # else pairs of GPUs: all of them
    return ".".join(("smoke", run.backend, *device, name, figure.name))


def margin(figure: Figure) -> float:
    """The part of a rate that the next measurement may be lower."""
    samples = figure.samples
    if len(samples) < 3:
        return MARGIN
    mean = math.fsum(samples) / len(samples)
    deviation = math.sqrt(math.fsum((s - mean) ** 2 for s in samples) / (len(samples) - 1))
    return max(MARGIN, SIGMAS * deviation / figure.value)


def _said(rate: Rate) -> str:
    return f"{rate.figure.value:.4g} {rate.figure.unit} on {rate.run.label}, less {rate.margin:.0%}.".replace("%", " %")
