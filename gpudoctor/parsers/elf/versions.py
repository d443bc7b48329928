"""The symbol versions that a library needs from others, and those that it defines.

The layout is that of https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/symversion.html.
The loader compares both when it loads the library: "version `GLIBC_2.32' not found".
"""

from collections.abc import Iterator
from typing import BinaryIO

from gpudoctor.parsers.elf.dynamic import DT_STRTAB, read_tags
from gpudoctor.parsers.elf.headers import ElfFile, NotElfError

DT_VERDEF = 0x6FFFFFFC
DT_VERNEED = 0x6FFFFFFE
_WEAK = 2  # VER_FLG_WEAK: the loader only warns
# libc.so.6 defines some 40 versions, libstdc++.so.6 some 60; thousands mean that the section is damaged.
_MOST = 4096
_LONGEST_NAME = 4096


def needed_versions(file: BinaryIO) -> dict[str, tuple[str, ...]]:
    """Return for each library the versions that this one needs from it: {"libc.so.6": ("GLIBC_2.32",)}.

    Raises:
        NotElfError: where this is no sound ELF file with a dynamic section.
        OSError: where the file cannot be read.
    """
    elf, strings, start = _open(file, DT_VERNEED)
    found: dict[str, tuple[str, ...]] = {}
    for at in _chain(elf, start, "12xI"):
        _version, _count, name, first = elf.unpack("HHII", at)
        entries = [elf.unpack("IHHI", entry) for entry in _chain(elf, at + first, "12xI")]
        library = _text(elf, strings + name)
        wanted = tuple(_text(elf, strings + entry[3]) for entry in entries if not entry[1] & _WEAK)
        found[library] = (*found.get(library, ()), *wanted)
    return found


def defined_versions(file: BinaryIO) -> frozenset[str]:
    """Return the versions that the library defines; empty where its symbols have none.

    Raises:
        NotElfError: where this is no sound ELF file with a dynamic section.
        OSError: where the file cannot be read.
    """
    elf, strings, start = _open(file, DT_VERDEF)
    names = set()
    for at in _chain(elf, start, "16xI"):
        (first,) = elf.unpack("12xI", at)
        (name,) = elf.unpack("I", at + first)
        names.add(_text(elf, strings + name))
    return frozenset(names)


def _open(file: BinaryIO, tag: int) -> tuple[ElfFile, int, int]:
    """The file, the place of its strings and that of the section; 0: it has none."""
    elf = ElfFile(file)
    tags = dict(read_tags(elf))
    if tag not in tags:
        return elf, 0, 0
    if DT_STRTAB not in tags:
        raise NotElfError("no dynamic string table")
    return elf, elf.offset_of(tags[DT_STRTAB]), elf.offset_of(tags[tag])


def _chain(elf: ElfFile, start: int, layout: str) -> Iterator[int]:
    """Yield the places of the entries; each ends with the distance to the next one, 0 in the last."""
    for _ in range(_MOST if start else 0):
        yield start
        step = elf.unpack(layout, start)[-1]
        if not step:
            return
        start += step


def _text(elf: ElfFile, at: int) -> str:
    return elf.until_nul(at, _LONGEST_NAME).decode("utf-8", "replace")
