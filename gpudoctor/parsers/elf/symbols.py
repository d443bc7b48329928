"""The names that a shared library offers and lacks, from its dynamic symbol table, without section headers."""

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from gpudoctor.parsers.elf.dynamic import DT_GNU_HASH, DT_HASH, DT_STRSZ, DT_STRTAB, DT_SYMTAB, read_tags
from gpudoctor.parsers.elf.headers import ElfFile, NotElfError

_GLOBAL, _WEAK, _UNIQUE = 1, 2, 10

# libtorch_cpu.so, among the largest, has about 200 000 dynamic symbols.
_MOST_SYMBOLS = 4_000_000
_SYMBOLS_A_READ = 4096
_BLOCK = 1 << 20


def undefined_symbols(file: BinaryIO) -> frozenset[str]:
    """Return the names that the library needs from others, without versions.

    Weak ones are left out: the loader starts a program without them.

    Raises:
        NotElfError: where this is no sound ELF file with a dynamic symbol table.
        OSError: where the file cannot be read.
    """
    return _names(file, lambda binding, section: section == 0 and binding in (_GLOBAL, _UNIQUE))


def defined_symbols(file: BinaryIO) -> frozenset[str]:
    """Return the names that the library offers to others, without versions.

    Raises:
        NotElfError: where this is no sound ELF file with a dynamic symbol table.
        OSError: where the file cannot be read.
    """
    return _names(file, lambda binding, section: section != 0 and binding in (_GLOBAL, _WEAK, _UNIQUE))


def _names(file: BinaryIO, wanted: Callable[[int, int], bool]) -> frozenset[str]:
    elf = ElfFile(file)
    tags = dict(read_tags(elf))
    if DT_SYMTAB not in tags or DT_STRTAB not in tags:
        raise NotElfError("no dynamic symbol table")
    symbols = _symbols(elf, elf.offset_of(tags[DT_SYMTAB]), _count(elf, tags))
    places = {name for name, info, section in symbols if name and wanted(info >> 4, section)}
    return frozenset(_texts(elf, elf.offset_of(tags[DT_STRTAB]), tags.get(DT_STRSZ, 0), places))


def _symbols(elf: ElfFile, start: int, count: int) -> Iterator[tuple[int, int, int]]:
    """Yield each symbol's place in the string table, its type and binding, and its section."""
    layout = struct.Struct(elf.order + ("IBxH16x" if elf.is_64 else "I8xBxH"))
    for first in range(0, count, _SYMBOLS_A_READ):
        number = min(_SYMBOLS_A_READ, count - first)
        yield from layout.iter_unpack(elf.at(start + first * layout.size, number * layout.size))


def _texts(elf: ElfFile, start: int, size: int, places: Iterable[int]) -> Iterator[str]:
    """Yield the strings at these places, reading the string table forwards and once, a block at a time."""
    end = min(start + size, elf.size)
    block, first = b"", 0
    for place in sorted(places):
        stop = block.find(b"\0", place - first) if place - first < len(block) else -1
        if stop < 0:
            first = place
            block = elf.at(start + first, max(min(_BLOCK, end - start - first), 0))
            stop = block.find(b"\0")
        if stop < 0:
            raise NotElfError(f"no end to the symbol name at {place}")
        yield block[place - first : stop].decode("utf-8", "replace")


def _count(elf: ElfFile, tags: dict[int, int]) -> int:
    """Return how many dynamic symbols there are: no tag tells, so the hash tables must."""
    if DT_HASH in tags:
        count = int(elf.unpack("4xI", elf.offset_of(tags[DT_HASH]))[0])
    elif DT_GNU_HASH in tags:
        count = _count_by_gnu_hash(elf, elf.offset_of(tags[DT_GNU_HASH])) or _count_by_place(elf, tags)
    else:
        count = _count_by_place(elf, tags)
    if count > _MOST_SYMBOLS:
        raise NotElfError(f"{count} symbols are not sound")
    return count


def _count_by_gnu_hash(elf: ElfFile, start: int) -> int:
    """Walk the chain of the last symbol that a bucket names up to its end; 0 where no bucket names one.

    Undefined symbols are not in the table, so it tells nothing of a library that offers nothing.

    The table is described at https://sourceware.org/legacy-ml/binutils/2006-10/msg00377.html: header, Bloom filter
    words of the class's size, buckets, then a hash for each symbol whose lowest bit ends a chain.
    """
    buckets, offset, bloom, _shift = elf.unpack("4I", start)
    if buckets > _MOST_SYMBOLS or bloom > _MOST_SYMBOLS:
        raise NotElfError("the symbol hash table is not sound")
    table = start + 16 + bloom * (8 if elf.is_64 else 4)
    last = max(elf.unpack(f"{buckets}I", table), default=0)
    if not last or last < offset:
        return 0
    chains = table + 4 * buckets
    while not elf.unpack("I", chains + 4 * (last - offset))[0] & 1:
        last += 1
        if last > _MOST_SYMBOLS:
            raise NotElfError("a chain of the symbol hash table has no end")
    return int(last) + 1


def _count_by_place(elf: ElfFile, tags: dict[int, int]) -> int:
    """Take the size of the .dynsym section, or else the gap up to the strings, which linkers put next."""
    width = 24 if elf.is_64 else 16
    section = elf.section(b".dynsym")
    size = section.size if section else tags[DT_STRTAB] - tags[DT_SYMTAB]
    if size < 0:
        raise NotElfError("no hash table gives the number of symbols")
    return size // width
