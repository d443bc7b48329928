"""Values of facts as text for people, whole and harmless."""

from typing import Any

from gpudoctor.comparison.keyed import KeyedFigure
from gpudoctor.report.numbers import quantity
from gpudoctor.report.sanitize import clean

# What tells an entry from others, where a whole entry is on one side only.
TELLING = (
    "name",
    "package",
    "module",
    "soname",
    "version",
    "backend",
    "label",
    "outcome",
    "state",
    "path",
    "driver",
    "mode",
)


def text(value: Any, unit: str = "", exact: bool = False) -> str:
    """A value, of which `exact` shows all digits; of a dictionary its name and version."""
    if isinstance(value, KeyedFigure):
        return clean(f"{number(value.value)} {'' if value.unit == 'ratio' else value.unit}".strip())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, (int, float)):
        return quantity(value, unit, exact) if unit else _counted(value)
    if isinstance(value, dict):
        return clean(_entry(value))
    if isinstance(value, (list, tuple)) and value and all(isinstance(one, bool) for one in value):
        return f"{sum(value)} of {len(value)}"  # the links of a GPU that are up
    if isinstance(value, (list, tuple)):
        return clean(", ".join(text(one) for one in value)) or "empty"
    return clean(str(value)) or "(empty)"


def number(value: float) -> str:
    """Four digits that count; whole numbers below ten thousand million in full."""
    return f"{value:.0f}" if abs(value) < 1e10 and value == int(value) else f"{value:.4g}"


def _counted(value: float) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _entry(entry: dict[str, Any]) -> str:
    if is_unknown(entry):
        return f"unknown: {entry['unknown']}"
    reported = [str(entry[name]) for name in TELLING if isinstance(entry.get(name), (str, int)) and entry[name] != ""]
    if reported:
        return ", ".join(dict.fromkeys(reported))
    if all(isinstance(value, (str, int, float)) for value in entry.values()):
        return ", ".join(f"{name} {value}" for name, value in entry.items()) or "none"
    return counted(len(entry))


def counted(number: int) -> str:
    """So many entries."""
    return f"{number} entr{'y' if number == 1 else 'ies'}"


def is_unknown(value: Any) -> bool:
    """Whether this is a value that nobody could tell."""
    return isinstance(value, dict) and value.keys() == {"unknown"} and isinstance(value["unknown"], str)
