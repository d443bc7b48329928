"""Looks single names up in a library's symbol hash table: of 300 000 symbols only a handful is read."""

from collections.abc import Iterable
from typing import BinaryIO

from gpudoctor.parsers.elf.dynamic import DT_GNU_HASH, DT_STRTAB, DT_SYMTAB, read_tags
from gpudoctor.parsers.elf.headers import ElfFile, NotElfError
from gpudoctor.parsers.elf.symbols import defined_symbols

# A chain holds a handful of symbols; thousands mean that the table is damaged.
_LONGEST_CHAIN = 1 << 16
_MOST_BUCKETS = 1 << 24


def defines(file: BinaryIO, names: Iterable[str]) -> frozenset[str]:
    """Return those of the names that the library offers to others, without versions.

    The table is described at https://sourceware.org/legacy-ml/binutils/2006-10/msg00377.html. A library that has
    only the older DT_HASH is read whole.

    Raises:
        NotElfError: where this is no sound ELF file with a dynamic symbol table.
        OSError: where the file cannot be read.
    """
    elf = ElfFile(file)
    tags = dict(read_tags(elf))
    if DT_GNU_HASH not in tags:
        return defined_symbols(file) & frozenset(names)
    table = _GnuHashTable(elf, tags)
    return frozenset(name for name in names if table.has(name.encode()))


def gnu_hash(name: bytes) -> int:
    """Return the hash of a name in DT_GNU_HASH: Bernstein's, times 33 from 5381, in 32 bits."""
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


class _GnuHashTable:
    """DT_GNU_HASH: a Bloom filter, buckets, and for each symbol a hash whose lowest bit ends a chain."""

    def __init__(self, elf: ElfFile, tags: dict[int, int]) -> None:
        if DT_SYMTAB not in tags or DT_STRTAB not in tags:
            raise NotElfError("no dynamic symbol table")
        self._elf = elf
        self._symbols, self._strings = elf.offset_of(tags[DT_SYMTAB]), elf.offset_of(tags[DT_STRTAB])
        start = elf.offset_of(tags[DT_GNU_HASH])
        self._buckets, self._first, self._words, self._shift = elf.unpack("4I", start)
        self._bits = 64 if elf.is_64 else 32
        self._bloom = start + 16
        self._bucket = self._bloom + self._words * self._bits // 8
        self._chain = self._bucket + 4 * self._buckets
        if not 0 < self._buckets <= _MOST_BUCKETS or not 0 < self._words <= _MOST_BUCKETS:
            raise NotElfError("the symbol hash table is not sound")

    def has(self, name: bytes) -> bool:
        """Whether a symbol of this name is defined."""
        value = gnu_hash(name)
        if not self._may_have(value):
            return False
        (index,) = self._elf.unpack("I", self._bucket + 4 * (value % self._buckets))
        for at in range(index, index + _LONGEST_CHAIN) if index >= self._first else ():
            (found,) = self._elf.unpack("I", self._chain + 4 * (at - self._first))
            if found | 1 == value | 1 and self._name(at, len(name)) == name:
                return True
            if found & 1:
                return False
        return False

    def _may_have(self, value: int) -> bool:
        place = self._bloom + (value // self._bits) % self._words * self._bits // 8
        (word,) = self._elf.unpack("Q" if self._bits == 64 else "I", place)
        both = 1 << value % self._bits | 1 << (value >> self._shift) % self._bits
        return bool(word & both == both)

    def _name(self, index: int, length: int) -> bytes | None:
        """The symbol's name where it has this length, else None."""
        size = 24 if self._elf.is_64 else 16
        (place,) = self._elf.unpack("I", self._symbols + index * size)
        text = self._elf.at(self._strings + place, length + 1)
        return text[:-1] if text[-1] == 0 else None
