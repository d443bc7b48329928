"""Reads /etc/ld.so.cache: which files the dynamic loader knows for a soname.

The layout is that of glibc's sysdeps/generic/dl-cache.h and its flags those of sysdeps/generic/ldconfig.h,
https://sourceware.org/git/glibc.git.
"""

import os
import struct
import sys
from functools import lru_cache
from typing import Any

import msgspec

_OLD_MAGIC = b"ld.so-1.7.0"
_NEW_MAGIC = b"glibc-ld.so.cache1.1"
_OLD_HEADER = 16  # the magic, padded to 12, and the number of entries
_OLD_ENTRY = 12
_NEW_ALIGNMENT = 8

# magic, entries, length of strings, byte order, padding, extensions, unused
_HEADER = "20sIIB3xI12x"
# flags, soname, path, OS version, hardware capabilities
_ENTRY = "iIIIQ"

# The low byte says libc6 (3), the next one which machine's libraries.
_LIBC6 = 0x0003
_FLAGS = {
    "x86_64": 0x0300,
    "s390x": 0x0400,
    "ppc64": 0x0500,
    "ppc64le": 0x0500,
    "aarch64": 0x0A00,
    "riscv64": 0x1000,
    "loongarch64": 0x1200,
    "i686": 0x0000,
}
_LITTLE, _BIG = 2, 3


class CacheFormatError(ValueError):
    """The bytes are not a loader's cache, or it is cut short."""


class _Header(msgspec.Struct, frozen=True):
    magic: bytes
    entries: int
    strings: int
    order: int
    extensions: int


@lru_cache(maxsize=2)  # several probes read the same file, and each time takes 2 ms
def parse(data: bytes, machine: str | None = None) -> dict[str, tuple[str, ...]]:
    """Return the paths of each soname, in the order in which the loader tries them.

    Args:
        data: the whole file.
        machine: as uname(2) spells it; this machine where it is None. Libraries for others are left out,
            such as 32-bit ones. All libraries stay where the machine is not one that we know.

    Raises:
        CacheFormatError: where the data is not a cache in glibc's format of 2000 or later.
    """
    start = _start(data)
    order = "<" if sys.byteorder == "little" else ">"
    header = _Header(*_unpack(order + _HEADER, data, start))
    if header.order & 3 not in (0, _LITTLE if order == "<" else _BIG):
        raise CacheFormatError("the cache is for a machine of the other byte order")
    wanted = _FLAGS.get(machine or os.uname().machine)
    found: dict[str, tuple[str, ...]] = {}
    kind, mask = (_LIBC6, 0xFF) if wanted is None else (_LIBC6 | wanted, 0xFFFF)
    entries = _entries(order, data, start, header.entries)
    try:
        for flags, soname, path, _version, _capabilities in entries:
            if flags & mask == kind:
                soname += start
                path += start
                name = data[soname : data.index(0, soname)].decode("utf-8", "replace")
                place = data[path : data.index(0, path)].decode("utf-8", "replace")
                found[name] = (*found[name], place) if name in found else (place,)
    except ValueError:
        raise CacheFormatError("a name in the cache has no end") from None
    return found


def _start(data: bytes) -> int:
    """Return where the new format begins: at once, or behind a cache in the format before glibc 2.2."""
    if data.startswith(_NEW_MAGIC):
        return 0
    if not data.startswith(_OLD_MAGIC):
        raise CacheFormatError("not a cache of the dynamic loader")
    end = _OLD_HEADER - 4
    entries = int(_unpack("=I", data, end)[0])
    start = _OLD_HEADER + entries * _OLD_ENTRY
    start += -start % _NEW_ALIGNMENT
    if data[start : start + len(_NEW_MAGIC)] != _NEW_MAGIC:
        raise CacheFormatError("a cache in the format before glibc 2.2")
    return start


def _entries(order: str, data: bytes, start: int, count: int) -> list[tuple[int, int, int, int, int]]:
    layout = struct.Struct(order + _ENTRY)
    first = start + struct.calcsize(order + _HEADER)
    table = data[first : first + count * layout.size]
    if len(table) != count * layout.size:
        raise CacheFormatError("the cache is cut short")
    return list(layout.iter_unpack(table))


def _unpack(layout: str, data: bytes, at: int) -> tuple[Any, ...]:
    try:
        return struct.unpack_from(layout, data, at)
    except struct.error as error:
        raise CacheFormatError("the cache is cut short") from error
