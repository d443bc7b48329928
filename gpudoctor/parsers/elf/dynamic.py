"""The dynamic section of a shared library: its soname, what it needs, and where it looks for that."""

from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from gpudoctor.parsers.elf.headers import PT_DYNAMIC, ElfFile, NotElfError

DT_NEEDED = 1
DT_HASH = 4
DT_STRTAB = 5
DT_SYMTAB = 6
DT_STRSZ = 10
DT_SONAME = 14
DT_RPATH = 15
DT_RUNPATH = 29
DT_GNU_HASH = 0x6FFFFEF5

# A RUNPATH of a conda or pip library may name dozens of folders; PATH_MAX is 4096 bytes for each.
_LONGEST_STRING = 1 << 18
_MOST_TAGS = 1 << 14


class Dynamic(msgspec.Struct, frozen=True):
    """What the dynamic loader reads first of a library.

    `rpath` (DT_RPATH) and `runpath` (DT_RUNPATH) hold the entries as they stand in the file, `$ORIGIN` included.
    `machine` is spelled as by uname(2).
    """

    soname: str | None
    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    machine: str
    is_64: bool


def read_dynamic(file: BinaryIO) -> Dynamic:
    """Return a library's dynamic section, in a handful of reads however large the library is.

    Raises:
        NotElfError: where this is no sound ELF file, or one without a dynamic section.
        OSError: where the file cannot be read.
    """
    elf = ElfFile(file)
    tags = tuple(read_tags(elf))
    strings = _strings(elf, tags)

    def named(tag: int) -> tuple[str, ...]:
        return tuple(_text(elf, strings, value) for key, value in tags if key == tag)

    soname = named(DT_SONAME)
    return Dynamic(
        soname=soname[0] if soname else None,
        needed=named(DT_NEEDED),
        rpath=_entries(named(DT_RPATH)),
        runpath=_entries(named(DT_RUNPATH)),
        machine=elf.machine,
        is_64=elf.is_64,
    )


def read_tags(elf: ElfFile) -> Iterator[tuple[int, int]]:
    """Yield the (tag, value) pairs of the dynamic section up to DT_NULL.

    Raises:
        NotElfError: where there is no dynamic section, or its end is missing.
    """
    place = next((s for s in elf.segments if s.kind == PT_DYNAMIC), None)
    if place is None:
        raise NotElfError("no dynamic section: not a shared library")
    layout, width = ("QQ", 16) if elf.is_64 else ("II", 8)
    for index in range(min(place.size // width, _MOST_TAGS)):
        tag, value = elf.unpack(layout, place.offset + index * width)
        if tag == 0:
            return
        yield tag, value
    raise NotElfError("the dynamic section has no end")


def _strings(elf: ElfFile, tags: tuple[tuple[int, int], ...]) -> int:
    address = dict(tags).get(DT_STRTAB)
    if address is None:
        raise NotElfError("the dynamic section names no string table")
    return elf.offset_of(address)


def _text(elf: ElfFile, strings: int, at: int) -> str:
    return elf.until_nul(strings + at, _LONGEST_STRING).decode("utf-8", "replace")


def _entries(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(entry for path in paths if path for entry in path.split(":"))
