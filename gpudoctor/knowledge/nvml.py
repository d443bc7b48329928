"""Names of the numbers that NVML answers with."""

from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class HealthRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows of first bit, number of bits, value, name."""

    rows: tuple[tuple[int, int, int, str], ...]


class NvmlNames(KnowledgeTable, frozen=True):
    """The table ``nvml.toml``: what each number stands for; of `event_reasons` the number of the bit."""

    event_reasons: dict[int, str]
    compute_mode: dict[int, str]
    virtualization: dict[int, str]
    fabric_state: dict[int, str]
    recovery_action: dict[int, str]
    fabric_health: HealthRows
    fabric_summary: dict[int, str]


@cache
def nvml_names() -> NvmlNames:
    """Return the table, read once."""
    return load("nvml", NvmlNames)


def event_reasons(bits: int) -> tuple[str, ...]:
    """Return the names of the bits that are set, lowest first; a bit without a name as "bit-47"."""
    names = nvml_names().event_reasons
    return tuple(names.get(at, f"bit-{at}") for at in range(bits.bit_length()) if bits >> at & 1)


def fabric_health(mask: int, summary: int = 0) -> tuple[str, ...]:
    """Return the names of what a mask of a fabric's health reports as faulty; where it names nothing, the summary's."""
    tables = nvml_names()
    rows = tables.fabric_health.rows
    named = tuple(name for first, bits, value, name in rows if mask >> first & (1 << bits) - 1 == value)
    return named or ((tables.fabric_summary[summary],) if summary in tables.fabric_summary else ())


def name_of(table: dict[int, str], number: int) -> str:
    """Return what a number is called in one of the tables, or the number itself where it is new."""
    return table.get(number, str(number))
