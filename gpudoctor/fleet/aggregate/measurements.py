"""Measured values of all devices, kept in rows: a device is a row, a figure a column.

Devices that ran the same tests share a table, so that a row costs a few bytes and is added at once. Above a number of
values only the nodes stay whose names fall into a share, which is halved again and again: so memory is bounded, and the
same nodes stay in whichever order they came. Of the others, values that stand far apart are kept by name.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import gt, lt
from typing import NamedTuple

import msgspec

from gpudoctor.facts.text_types import Number
from gpudoctor.fleet.aggregate.hardware import Body
from gpudoctor.fleet.aggregate.inventory_facts import LARGEST

VALUES = 1_000_000  # eight bytes each
TABLES = 400
_APART = 100  # values of one figure and one side that are kept by name when their node is not


class _Figure(msgspec.Struct, gc=False):
    name: str
    value: Number
    unit: str = ""


class _Test(msgspec.Struct, gc=False):
    test: str
    variant: str = ""
    outcome: str = ""
    figures: tuple[_Figure, ...] = ()


class _Entry(msgspec.Struct, gc=False):
    backend: str
    device: str
    kind: str = ""
    busy: bool | None = None
    tests: tuple[_Test, ...] = ()


_entries = msgspec.json.Decoder(tuple[_Entry, ...]).decode


class DeviceFigures(NamedTuple):
    """The values of one device, and what they are of: (figure, unit) each."""

    device: str
    kind: str
    figures: tuple[tuple[str, str], ...]
    values: list[float]


class Column(NamedTuple):
    """The values of one figure in one body of hardware.

    Attributes:
        values: those that are kept.
        nodes: the node of each.
        devices: the device of each.
        rows: how many there were.
        least: the smallest of those that were not kept.
        most: the largest of those.
        apart: values of nodes that were not kept: (value, node, device).
    """

    values: array[float]
    nodes: array[int]
    devices: list[str]
    rows: int
    least: float
    most: float
    apart: list[tuple[float, int, str]]


def measured(data: bytes) -> list[DeviceFigures]:
    """What the smoke tests of a report measured; not on devices that others used meanwhile.

    Raises:
        msgspec.MsgspecError: it is no such part of a report.
    """
    return [_measured(entry) for entry in _entries(data) if not entry.busy]


def _measured(entry: _Entry) -> DeviceFigures:
    found = [(test.test, test.variant, one.name, one.unit) for test in entry.tests for one in test.figures]
    values = [one.value for test in entry.tests for one in test.figures]
    if values and not -LARGEST < min(values) <= max(values) < LARGEST:
        raise ValueError("a measured value is implausibly large")
    return DeviceFigures(entry.device, entry.kind, _named(entry.backend, tuple(found)), values)


@lru_cache(TABLES)
def _named(backend: str, found: tuple[tuple[str, str, str, str], ...]) -> tuple[tuple[str, str], ...]:
    """The figures with their units: pytorch.matmul bf16.rate; devices that ran the same tests share one tuple."""
    return tuple(
        (f"{backend}.{test} {variant}.{name}" if variant else f"{backend}.{test}.{name}", unit)
        for test, variant, name, unit in found
    )


class _FigureTable:
    """The rows of devices with the same figures."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.values = array("d")
        self.nodes = array("I")
        self.devices = array("H")
        self.rows = 0
        self.least = [float("inf")] * width
        self.most = [float("-inf")] * width
        self.low: list[float] = []  # where not all are kept: below it is far apart
        self.high: list[float] = []
        self.apart: dict[int, list[tuple[float, int, str]]] = {}

    def pass_over(self, node: int, device: str, values: Sequence[float]) -> None:
        """Let go of a row, but for the values that are far apart."""
        self.least = list(map(min, self.least, values))
        self.most = list(map(max, self.most, values))
        if not any(map(lt, values, self.low)) and not any(map(gt, values, self.high)):
            return
        for at, (value, low, high) in enumerate(zip(values, self.low, self.high, strict=True)):
            if value < low or value > high:
                apart = self.apart.setdefault(at, [])
                apart.append((value, node, device))
                if len(apart) >= 4 * _APART:
                    apart.sort()
                    del apart[_APART:-_APART]


class Figures:
    """All tables."""

    def __init__(self) -> None:
        self.tables: dict[tuple[Body, tuple[tuple[str, str], ...]], _FigureTable] = {}
        self.names: list[str] = []  # of devices
        self._numbers: dict[str, int] = {}
        self._share = 1 << 32  # names whose checksum is below it stay
        self._values = 0

    def add(self, body: Body, node: int, name: str, found: list[DeviceFigures]) -> None:
        """Note what a node measured."""
        kept = self._share > zlib.crc32(name.encode())
        for one in found:
            table = self.tables.get((body, one.figures))
            if table is None:
                if len(self.tables) >= TABLES or not one.values:
                    continue
                table = self.tables[body, one.figures] = _FigureTable(len(one.values))
            table.rows += 1
            if kept:
                table.values.extend(one.values)
                table.nodes.append(node)
                table.devices.append(self._number(one.device))
                self._values += table.width
            else:
                table.pass_over(node, one.device, one.values)

    def slim(self, names: list[str]) -> None:
        """Between two nodes: keep fewer of them, where there are too many values."""
        if self._values <= VALUES:
            return
        self._share >>= 1
        self._values = 0
        for table in self.tables.values():
            _bounds(table)
            self._halve(table, names)
            self._values += len(table.values)

    def columns(self) -> Iterator[tuple[Body, tuple[str, str], Column]]:
        """Each figure of each table."""
        for (body, figures), table in self.tables.items():
            devices = [self.names[number] for number in table.devices]
            for at, figure in enumerate(figures):
                values = table.values[at :: table.width]
                apart = table.apart.get(at, [])
                column = Column(values, table.nodes, devices, table.rows, table.least[at], table.most[at], apart)
                yield body, figure, column

    def _number(self, device: str) -> int:
        number = self._numbers.setdefault(device, len(self.names))
        if number == len(self.names):
            if number >= 1000:  # no node has as many devices
                return number - 1
            self.names.append(device)
        return number

    def _halve(self, table: _FigureTable, names: list[str]) -> None:
        kept, width = _FigureTable(table.width), table.width
        for row, (node, device) in enumerate(zip(table.nodes, table.devices, strict=True)):
            values = table.values[row * width : (row + 1) * width]
            if zlib.crc32(names[node].encode()) < self._share:
                kept.values.extend(values)
                kept.nodes.append(node)
                kept.devices.append(device)
            else:
                table.pass_over(node, self.names[device], values)
        table.values, table.nodes, table.devices = kept.values, kept.nodes, kept.devices


def _bounds(table: _FigureTable) -> None:
    """What is kept by name: a little more than could be called an outlier by what was seen so far."""
    from gpudoctor.fleet.aggregate.outliers import middle

    table.low, table.high = [], []
    for at in range(table.width):
        median, deviation = middle(sorted(table.values[at :: table.width]))
        table.low.append(median - 3 * deviation)
        table.high.append(median + 3 * deviation)
