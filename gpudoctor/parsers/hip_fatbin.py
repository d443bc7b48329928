"""The targets of AMD's GPUs that a HIP library has code for, as `llvm-objdump --offloading` shows them.

The layout is https://clang.llvm.org/docs/ClangOffloadBundler.html#bundled-code-object-layout. The compiler lays one
bundle for each source file into the section .hip_fatbin, each at the start of a page. Held against Debian's librocrand
and librocsparse 5.3 (one bundle, and 111) on 2026-11-24.
"""

import struct
from typing import BinaryIO

from gpudoctor.lazy_regex import pattern
from gpudoctor.parsers.elf.headers import ElfFile, NotElfError

_MAGIC, _COMPRESSED = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
_COUNT, _ENTRY = struct.Struct("<Q"), struct.Struct("<QQQ")  # offset and size of the code, length of the ID
_ID = pattern(r"hip(?:v4)?-amdgcn-amd-amdhsa-[^-]*-(gfx[0-9a-z-]+)(?:[:+-].*)?")
_PAGE = 4096
_MOST_BUNDLES, _MOST_ENTRIES, _LONGEST = 4096, 256, 256


def targets(file: BinaryIO) -> tuple[str, ...]:
    """Return the gfx targets of all bundles, without their features; empty where there is no code for HIP.

    Raises:
        NotElfError: where the file is no sound ELF file, or its code is compressed, so that nobody can say.
        OSError: where the file cannot be read.
    """
    elf = ElfFile(file)
    if not elf.sections():
        raise NotElfError("the section headers were stripped, so the GPU code cannot be found")
    section = elf.section(b".hip_fatbin")
    if section is None:
        return ()
    found, at, end = dict[str, None](), section.offset, section.offset + section.size
    for _ in range(_MOST_BUNDLES):
        if at + len(_MAGIC) + _COUNT.size > end:
            break
        if elf.at(at, len(_COMPRESSED)) == _COMPRESSED:
            raise NotElfError("its code for GPUs is compressed")
        if elf.at(at, len(_MAGIC)) != _MAGIC:
            break
        size = _read(elf, at, end, found)
        at += max(-(-size // _PAGE) * _PAGE, _PAGE)
    return tuple(found)


def _read(elf: ElfFile, start: int, end: int, found: dict[str, None]) -> int:
    """Note the targets of one bundle; return the size of the bundle."""
    at = start + len(_MAGIC)
    (count,) = _COUNT.unpack(elf.at(at, _COUNT.size))
    at, size = at + _COUNT.size, 0
    for _ in range(min(count, _MOST_ENTRIES)):
        offset, length, letters = _ENTRY.unpack(elf.at(at, _ENTRY.size))
        name = elf.at(at + _ENTRY.size, min(letters, _LONGEST)).decode("ascii", "replace")
        if match := _ID.fullmatch(name):
            found[match[1]] = None
        at += _ENTRY.size + letters
        size = max(size, offset + length)
    if start + size > end:
        raise NotElfError("a bundle of GPU code is cut short")
    return size
