"""Finds a string among a library's constants without loading it."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from gpudoctor.parsers.elf.headers import PT_LOAD, ElfFile

# libtorch_python.so has 5 MiB of constants; a search of more than this takes longer than the answer is worth.
SEARCHED = 64 << 20
_BLOCK = 1 << 20
# The longest match that may lie across two blocks.
_OVERLAP = 1 << 14


def rodata_string(file: BinaryIO, pattern: bytes) -> bytes | None:
    r"""Return the first match of a regular expression among the read-only constants, or None.

    Searched are the first 64 MiB of .rodata, or of the loaded segments where the file has no such section. A NUL
    is put before them, so that `(?<=\0)` and `\0` in the pattern mark a whole C string.
    The file is read in blocks, not mapped: a library that is replaced meanwhile must not end us with SIGBUS.

    Raises:
        NotElfError: where this is no sound ELF file.
        OSError: where the file cannot be read.
    """
    elf = ElfFile(file)
    section = elf.section(b".rodata")
    places = (
        [(section.offset, section.size)] if section else [(s.offset, s.size) for s in elf.segments if s.kind == PT_LOAD]
    )
    wanted = re.compile(pattern)
    rest = b"\0"
    for block, is_last in _blocks(elf, places):
        rest += block
        match = wanted.search(rest)
        if match and (is_last or match.end() < len(rest)):
            return match[0]
        rest = rest[max(0, match.start() - 1) if match else -_OVERLAP :]
    return None


def _blocks(elf: ElfFile, places: list[tuple[int, int]]) -> Iterator[tuple[bytes, bool]]:
    """Yield the places' bytes a block at a time, and whether it is the last."""
    left = min(SEARCHED, sum(size for _, size in places))
    for offset, size in places:
        for at in range(offset, offset + size, _BLOCK):
            block = elf.at(at, min(_BLOCK, offset + size - at, left))
            left -= len(block)
            yield block, not left
            if not left:
                return
