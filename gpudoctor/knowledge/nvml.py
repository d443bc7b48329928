"""Names of the numbers that NVML answers with."""

from functools import cache

from gpudoctor.knowledge.table import Table, load


class NvmlNames(Table, frozen=True):
    """The table ``nvml.toml``: what each number stands for; of `event_reasons` the number of the bit."""

    event_reasons: dict[int, str]
    compute_mode: dict[int, str]
    virtualization: dict[int, str]
    fabric_state: dict[int, str]
    recovery_action: dict[int, str]


@cache
def nvml_names() -> NvmlNames:
    """Return the table, read once."""
    return load("nvml", NvmlNames)


def event_reasons(bits: int) -> tuple[str, ...]:
    """Return the names of the bits that are set, lowest first; a bit without a name as "bit-47"."""
    names = nvml_names().event_reasons
    return tuple(names.get(at, f"bit-{at}") for at in range(bits.bit_length()) if bits >> at & 1)


def name_of(table: dict[int, str], number: int) -> str:
    """Return what a number is called in one of the tables, or the number itself where it is new."""
    return table.get(number, str(number))
