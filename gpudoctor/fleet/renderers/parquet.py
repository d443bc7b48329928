"""The summary as a Parquet file: the rows of the CSV, for DuckDB, pandas or Spark; lists stay lists.

Loading pyarrow takes 60 MiB, more than the reports of 100,000 nodes, and these tables need little of the format: texts
and lists of texts, in pages of plain values packed with gzip (https://parquet.apache.org/docs/file-format/), and
metadata in Thrift's compact protocol (parquet.thrift of https://github.com/apache/parquet-format).
"""

import gzip
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from gpudoctor import __version__
from gpudoctor.fleet.renderers.rows import NodeRow, rows
from gpudoctor.fleet.summary import Fleet

LISTS = ("causes", "titles", "drift", "outliers", "targets", "messages")
ROWS = 10_000  # of a row group, which is held in memory
_MAGIC = b"PAR1"
# Types of Thrift's compact protocol, and numbers of parquet.thrift.
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
_BYTE_ARRAY, _REQUIRED, _REPEATED, _UTF8, _CONVERTED_LIST, _PLAIN, _RLE, _GZIP = 6, 0, 2, 0, 3, 0, 3, 2


def render(fleet: Fleet) -> bytes:
    """The file's bytes."""
    return b"".join(pieces(fleet))


def pieces(fleet: Fleet) -> Iterator[bytes]:
    """The same, a column of a row group at a time."""
    yield _MAGIC
    at, total, groups = len(_MAGIC), 0, []
    left = rows(fleet)
    while group := list(islice(left, ROWS)):
        chunks = []
        for name, cells in zip(NodeRow._fields, zip(*group, strict=True), strict=True):
            data, column = _column(name, cells, at)
            yield data
            at += len(data)
            chunks.append(column)
        size = sum(one.size for one in chunks)
        groups.append(_struct((1, _LIST, _list(_STRUCT, [one.entry for one in chunks])), (2, _I64, size),
                              (3, _I64, len(group))))  # fmt: skip
        total += len(group)
    pairs = {"gpudoctor.fleet": fleet.schema, "created": fleet.created}
    footer = _struct(
        (1, _I32, 1),
        (2, _LIST, _list(_STRUCT, _schema())),
        (3, _I64, total),
        (4, _LIST, _list(_STRUCT, groups)),
        (5, _LIST, _list(_STRUCT, [_struct((1, _BINARY, key), (2, _BINARY, text)) for key, text in pairs.items()])),
        (6, _BINARY, f"gpudoctor {__version__}"),
    )
    yield footer + len(footer).to_bytes(4, "little") + _MAGIC


class _Chunk(NamedTuple):
    """A column of a row group: its entry in the footer, and its bytes before they were packed."""

    entry: bytes
    size: int


def _column(name: str, cells: Sequence[str | tuple[str, ...]], at: int) -> tuple[bytes, _Chunk]:
    """The page of a column, which begins at this place of the file, and its entry."""
    path, levels = [name], b""
    texts: list[str] = []
    if name in LISTS:
        path += ["list", "element"]
        again = [place > 0 for cell in cells for place in range(max(1, len(cell)))]
        there = [bool(cell) for cell in cells for _ in range(max(1, len(cell)))]
        count, levels = len(again), _bits(again) + _bits(there)
        texts = [text for cell in cells for text in cell]
    else:
        texts = [str(cell) for cell in cells]
        count = len(texts)
    values = [text.encode("utf-8", "backslashreplace") for text in texts]
    page = levels + b"".join(len(one).to_bytes(4, "little") + one for one in values)
    packed = gzip.compress(page, 6, mtime=0)
    about = _struct((1, _I32, count), (2, _I32, _PLAIN), (3, _I32, _RLE), (4, _I32, _RLE))
    data = _struct((1, _I32, 0), (2, _I32, len(page)), (3, _I32, len(packed)), (5, _STRUCT, about)) + packed
    size = len(data) - len(packed) + len(page)
    entry = _struct(
        (1, _I32, _BYTE_ARRAY), (2, _LIST, _list(_I32, [_varint(_zigzag(one)) for one in (_PLAIN, _RLE)])),
        (3, _LIST, _list(_BINARY, [_binary(one) for one in path])), (4, _I32, _GZIP), (5, _I64, count), (6, _I64, size),
        (7, _I64, len(data)), (9, _I64, at),
    )  # fmt: skip
    return data, _Chunk(_struct((2, _I64, at), (3, _STRUCT, entry)), size)


def _schema() -> list[bytes]:
    found = [_struct((4, _BINARY, "schema"), (5, _I32, len(NodeRow._fields)))]
    for name in NodeRow._fields:
        if name in LISTS:
            found += [
                _struct((3, _I32, _REQUIRED), (4, _BINARY, name), (5, _I32, 1), (6, _I32, _CONVERTED_LIST)),
                _struct((3, _I32, _REPEATED), (4, _BINARY, "list"), (5, _I32, 1)),
            ]
        leaf = "element" if name in LISTS else name
        found.append(_struct((1, _I32, _BYTE_ARRAY), (3, _I32, _REQUIRED), (4, _BINARY, leaf), (6, _I32, _UTF8)))
    return found


def _bits(levels: Sequence[bool]) -> bytes:
    """Levels of one bit, as one run that is packed: https://parquet.apache.org/docs/file-format/data-pages/encodings/."""
    wide = (len(levels) + 7) // 8
    text = "".join("01"[one] for one in reversed(levels))
    run = _varint(wide << 1 | 1) + int(text or "0", 2).to_bytes(wide, "little")
    return len(run).to_bytes(4, "little") + run


def _struct(*fields: tuple[int, int, int | str | bytes]) -> bytes:
    """A struct: (number, type, value) each, in ascending order."""
    found, last = b"", 0
    for number, kind, value in fields:
        found += bytes([(number - last) << 4 | kind])
        if isinstance(value, int):
            found += _varint(_zigzag(value))
        else:
            found += _binary(value) if isinstance(value, str) else value
        last = number
    return found + b"\0"


def _list(kind: int, items: Sequence[bytes]) -> bytes:
    head = bytes([len(items) << 4 | kind]) if len(items) < 15 else bytes([0xF0 | kind]) + _varint(len(items))
    return head + b"".join(items)


def _binary(text: str) -> bytes:
    data = text.encode("utf-8", "backslashreplace")
    return _varint(len(data)) + data


def _zigzag(value: int) -> int:
    return value << 1  # none of our numbers is negative


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
