"""The headers of an ELF file, and reading from it by offset or by address, never past its end.

The layout is that of elf(5), https://man7.org/linux/man-pages/man5/elf.5.html.
"""

import os
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

PT_LOAD = 1
PT_DYNAMIC = 2
PT_GNU_STACK = 0x6474E551
PF_X = 1
SHT_NULL = 0
SHT_NOBITS = 8

# e_machine, by the names that uname(2) gives.
MACHINES = {
    3: "i686",
    21: "ppc64",
    22: "s390x",
    40: "arm",
    62: "x86_64",
    183: "aarch64",
    243: "riscv64",
    258: "loongarch64",
}

# A shared library has some ten segments and forty sections; thousands mean that the header is damaged.
_MOST_HEADERS = 4096
_LONGEST_SECTION_NAME = 256


class NotElfError(ValueError):
    """The file is not an ELF file, is cut short, or contradicts itself."""


class Segment(msgspec.Struct, frozen=True):
    """One program header: what is loaded, from where in the file, to which address, and how it may be used."""

    kind: int
    offset: int
    address: int
    size: int
    flags: int


class ElfSection(msgspec.Struct, frozen=True):
    """One section header that has bytes in the file."""

    name_at: int
    kind: int
    offset: int
    size: int


class ElfFile:
    """An open ELF file; every read is held against the file's size."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the headers.

        Args:
            file: open for reading in binary mode; its position is changed.

        Raises:
            NotElfError: where this is not a sound ELF file.
            OSError: where the file cannot be read.
        """
        self._file = file
        self.size = file.seek(0, os.SEEK_END)
        ident = self.at(0, 16)
        if ident[:4] != b"\x7fELF" or ident[4] not in (1, 2) or ident[5] not in (1, 2):
            raise NotElfError("not an ELF file")
        self.is_64 = ident[4] == 2
        self.order = "<" if ident[5] == 1 else ">"
        header = self.unpack("HHIQQQIHHHHHH" if self.is_64 else "HHIIIIIHHHHHH", 16)
        self.machine = MACHINES.get(header[1], f"machine {header[1]}")
        self._programs = (header[4], header[8], header[9])
        self._sections = (header[5], header[10], header[11])
        self._names = header[12]
        self.segments = tuple(self._read_segments())

    def at(self, offset: int, size: int) -> bytes:
        """Return `size` bytes from `offset`, or raise NotElfError where the file has fewer."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise NotElfError(f"the file is cut short: {size} bytes at {offset} of {self.size}")
        self._file.seek(offset)
        data = self._file.read(size)
        if len(data) != size:
            raise NotElfError("the file became shorter while it was read")
        return data

    def unpack(self, layout: str, offset: int) -> tuple[Any, ...]:
        """Return the numbers at an offset, in the file's byte order (`layout` as in `struct`, without order)."""
        packed = struct.Struct(self.order + layout)
        return packed.unpack(self.at(offset, packed.size))

    def until_nul(self, offset: int, longest: int) -> bytes:
        """Return the string at an offset, without its NUL; a string longer than `longest` is an error."""
        data = self.at(offset, min(longest, max(self.size - offset, 0)))
        end = data.find(b"\0")
        if end < 0:
            raise NotElfError(f"no end to the string at {offset}")
        return data[:end]

    def offset_of(self, address: int) -> int:
        """Return where in the file the byte stands that is loaded at an address."""
        for segment in self.segments:
            if segment.kind == PT_LOAD and 0 <= address - segment.address < segment.size:
                return segment.offset + address - segment.address
        raise NotElfError(f"address {address:#x} is in no loaded segment")

    def sections(self) -> tuple[ElfSection, ...]:
        """Return the section headers; empty where they were stripped, as the loader needs none."""
        start, width, count = self._sections
        layout = "IIQQQQ" if self.is_64 else "IIIIII"
        if not start:
            return ()
        self._sane(width, layout, count)
        found = []
        for index in range(count):
            name, kind, _flags, _address, offset, size = self.unpack(layout, start + index * width)
            found.append(ElfSection(name, kind, offset, size))
        return tuple(found)

    def section(self, name: bytes) -> ElfSection | None:
        """Return the section of this name that has bytes in the file, or None."""
        sections = self.sections()
        if self._names >= len(sections):
            return None
        names = sections[self._names].offset
        for section in sections:
            if section.kind in (SHT_NULL, SHT_NOBITS):
                continue
            if self.until_nul(names + section.name_at, _LONGEST_SECTION_NAME) == name:
                return section
        return None

    def _read_segments(self) -> Iterator[Segment]:
        start, width, count = self._programs
        layout = "IIQQQQ" if self.is_64 else "IIIIIII"
        self._sane(width, layout, count)
        for index in range(count):
            at = start + index * width
            if self.is_64:
                kind, flags, offset, address, _physical, size = self.unpack(layout, at)
            else:
                kind, offset, address, _physical, size, _in_memory, flags = self.unpack(layout, at)
            yield Segment(kind, offset, address, size, flags)

    def _sane(self, width: int, layout: str, count: int) -> None:
        if count > _MOST_HEADERS or (count and width < struct.calcsize(self.order + layout)):
            raise NotElfError(f"{count} headers of {width} bytes are not sound")


def end_of(file: BinaryIO) -> int:
    """Return where the last byte that is loaded ends: a shorter file is cut, and using it raises SIGBUS.

    Args:
        file: open for reading in binary mode; its position is changed.

    Raises:
        NotElfError: where not even the headers are there.
        OSError: where the file cannot be read.
    """
    return max((s.offset + s.size for s in ElfFile(file).segments if s.kind == PT_LOAD), default=0)


# Where a library without PT_GNU_STACK gets a stack that is not executable; on the others it asks for one that is:
# DEFAULT_STACK_PERMS in stackinfo.h of glibc, https://sourceware.org/git/glibc.git.
_STACK_NOT_EXECUTABLE = ("aarch64", "riscv64", "loongarch64")


def wants_executable_stack(file: BinaryIO) -> bool:
    """Return whether a library asks for an executable stack, by its PT_GNU_STACK or by having none.

    Since glibc 2.41 dlopen() refuses such a library: https://lists.gnu.org/archive/html/info-gnu/2025-01/msg00014.html

    Args:
        file: open for reading in binary mode; its position is changed.

    Raises:
        NotElfError: where this is no sound ELF file.
        OSError: where the file cannot be read.
    """
    elf = ElfFile(file)
    stack = next((s for s in elf.segments if s.kind == PT_GNU_STACK), None)
    return bool(stack.flags & PF_X) if stack else elf.machine not in _STACK_NOT_EXECUTABLE
