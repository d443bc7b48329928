"""Recognises the lines of a kernel log that say something about GPUs and their drivers."""

import re
from functools import cache

import msgspec

from gpudoctor.digits import number_of
from gpudoctor.knowledge.table import KnowledgeTable, load

_ADDRESS = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?"


class KernelLogRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The rows of the table: kind, gate, needle, regular expression."""

    rows: tuple[tuple[str, str, str, str], ...]


class DriverErrorRows(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an error line looks: by module (gate, worst level, prefix), and the words that make it one."""

    modules: tuple[tuple[str, int, str], ...]
    words: str


class Harmless(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An error line of machines that compute."""

    pattern: str
    why: str
    source: str


class KernelLogTable(KnowledgeTable, frozen=True):
    """The table ``kernel_log.toml``."""

    log: KernelLogRows
    errors: DriverErrorRows
    harmless: tuple[Harmless, ...]
    providers: dict[str, str]


class RecognizedLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one line says; a part that the line does not name is None.

    gpu is a PCI address such as "0000:07:00.0". code is an Xid, an error number or a device id.
    driver is a driver's name or version, branch the legacy branch that a message advises.
    """

    kind: str
    gpu: str | None = None
    code: str | None = None
    module: str | None = None
    branch: int | None = None
    driver: str | None = None
    pid: int | None = None
    process: str | None = None
    device: str | None = None
    text: str | None = None

    @property
    def number(self) -> int | None:
        """The code as a number: an Xid, an SXid, an errno; None where it is none."""
        number = number_of((self.code or "").removeprefix("-"))
        return -number if number and str(self.code).startswith("-") else number


@cache
def kinds() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return every kind with its regular expression, in the order in which they are tried."""
    return tuple((kind, _compiled(source)) for kind, _, _, source in _rows())


def recognise(line: str) -> RecognizedLine | None:
    """Return what a line of the kernel log says, or None where it says nothing about GPUs."""
    for gate, rows in _gates():
        if gate in line:
            for kind, needle, source in rows:
                # Compiled when first needed: most logs need three of fifty expressions.
                if needle in line and (match := _compiled(source).search(line)):
                    return _event(kind, match)
    return None


def driver_error(line: str, level: int | None) -> RecognizedLine | None:
    """Return a GPU driver's error that `recognise` does not know, or None where the line is none, or is harmless.

    Args:
        line: one message of the log.
        level: its level, 0 (emergency) to 7 (debug); None where the log knows none.
    """
    table = _table()
    for gate, worst, prefix in table.errors.modules:
        if gate not in line or (level is not None and level > worst):
            continue
        match = _compiled(prefix).search(line)
        if match and _compiled(table.errors.words).search(line, match.end()):
            if any(_compiled(row.pattern).search(line) for row in table.harmless):
                return None
            address = match.groupdict().get("gpu")
            return RecognizedLine("driver-error", gpu=pci_address(address) if address else None, module=gate.strip())
    return None


def pci_address(text: str) -> str:
    """Return an address as sysfs writes it: "07:00", "00000000:07:00.0" become "0000:07:00.0"."""
    head, _, function = text.lower().partition(".")
    parts = head.split(":")
    domain = parts[0][-4:] if len(parts) == 3 and len(parts[0]) > 4 and parts[0][:-4].strip("0") == "" else None
    if len(parts) == 2:
        parts = ["0000", *parts]
    elif domain is not None:
        parts[0] = domain
    return f"{':'.join(parts)}.{function or '0'}"


@cache
def _table() -> KernelLogTable:
    return load("kernel_log", KernelLogTable)


def _rows() -> tuple[tuple[str, str, str, str], ...]:
    return _table().log.rows


@cache
def _gates() -> tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...]:
    """The rows by gate, so that a line without any gate costs one search per gate and no more."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for kind, gate, needle, source in _rows():
        found.setdefault(gate, []).append((kind, needle, source))
    return tuple((gate, tuple(rows)) for gate, rows in found.items())


@cache
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source.replace("<PCI>", _ADDRESS))


def _event(kind: str, match: re.Match[str]) -> RecognizedLine:
    groups = {k: v.strip() for k, v in match.groupdict().items() if v and v.strip() != "<unknown>"}
    address = groups.pop("gpu", None) or groups.pop("gpu2", None)
    groups.pop("gpu2", None)
    branch, pid = groups.pop("branch", None), groups.pop("pid", None)
    return RecognizedLine(
        kind,
        gpu=pci_address(address) if address else None,
        branch=int(branch) if branch else None,
        pid=int(pid) if pid else None,
        **groups,
    )


def provider_of(symbol: str) -> str | None:
    """Return the kernel's own module that exports a symbol; None where the table does not have it."""
    known = _table().providers
    prefix = max((p for p in known if symbol.startswith(p)), key=len, default=None)
    return known[prefix] if prefix else None
