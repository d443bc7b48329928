"""How numbers are written."""

import pytest

from gpudoctor.report.numbers import amount, number


@pytest.mark.parametrize(("value", "text"), [(0, "0"), (999, "999"), (1000, "1,000"), (1234567, "1,234,567")])
def test_things_that_are_counted(value: int, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (54.91, "54.9"), (0.0, "0"), (1234.5, "1,234"), (1234567.0, "1,234,567"), (3.14159, "3.14"), (0.5, "0.500"),
        (0.0123, "0.0123"), (0.00012, "0.00012"), (1.25e-7, "1.25e-07"), (3e9, "3e+09"), (-54.91, "-54.9"),
        (float("nan"), "nan"), (float("inf"), "inf"),
    ],
)  # fmt: skip
def test_values_that_are_measured(value: float, text: str) -> None:
    assert amount(value) == text
