"""Counts the GPU kernels in a CUDA library by architecture, as `cuobjdump --list-elf --list-ptx` would.

NVIDIA documents the section's purpose (https://docs.nvidia.com/cuda/cuda-binary-utilities/) but not its layout. The
layout here was held against nvcc 13.0 and against cuobjdump's counts for PyTorch 2.15 and NCCL 2.32 on 2026-11-21.
cuobjdump leaves out the f of sm_100f and counts it as sm_100.
"""

import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from gpudoctor.parsers.elf.headers import ElfFile, NotElfError

_MAGIC = 0xBA55ED50
_CONTAINER = struct.Struct("<IHHQ")  # magic, version, size of this header, size of the entries
_ENTRY = struct.Struct("<HHIQ12xI8xQ")  # kind, version, size of this header, size of the code, architecture, flags
_PTX, _ELF = 1, 2
_SPECIFIC = 0x100000  # sm_90a: for this architecture alone
_FAMILY = 0x200000  # sm_100f: for this family

# PyTorch 2.15 has 3500 entries; 200 000 take about half a second.
_MOST_ENTRIES = 200_000
# Containers are aligned to 8 bytes; a linker may pad to a page.
_MOST_PADDING = 4096


def kernels(file: BinaryIO) -> dict[str, int]:
    """Return how many entries there are for each architecture, such as {'sm_80': 476, 'sm_90a': 4, 'compute_90': 1}.

    Only the headers of the entries are read. Empty where the library has no GPU code. What was read so far is
    returned where the section is damaged.

    Raises:
        NotElfError: where the file is no sound ELF file, or has no section headers, so that nobody can say.
        OSError: where the file cannot be read.
    """
    elf = ElfFile(file)
    if not elf.sections():
        raise NotElfError("the section headers were stripped, so the GPU code cannot be found")
    section = elf.section(b".nv_fatbin")
    if section is None:
        return {}
    counts: Counter[str] = Counter()
    try:
        for number, architecture in enumerate(_entries(elf, section.offset, section.offset + section.size)):
            if number >= _MOST_ENTRIES:
                break
            counts[architecture] += 1
    except NotElfError:
        pass  # a section that is cut short: what stands before the cut is still true
    return dict(counts)


def covering(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the architectures that the library as a whole was built for, in the order of `counts`.

    PyTorch builds a few kernels for one more architecture (sm_90a, sm_89); a card of that architecture
    could run those and nothing else. So an architecture counts with at least half the entries of the largest.
    """
    most = max(counts.values(), default=0)
    return tuple(name for name, count in counts.items() if 2 * count >= most)


def _entries(elf: ElfFile, start: int, end: int) -> Iterator[str]:
    at = _next_container(elf, start, end)
    for _ in range(_MOST_ENTRIES):
        if at is None:
            return
        _magic, _version, header, size = _CONTAINER.unpack(elf.at(at, _CONTAINER.size))
        stop = min(at + max(header, _CONTAINER.size) + size, end)
        yield from _entries_of_one(elf, at + max(header, _CONTAINER.size), stop)
        at = _next_container(elf, stop, end)


def _entries_of_one(elf: ElfFile, at: int, stop: int) -> Iterator[str]:
    while at + _ENTRY.size <= stop:
        kind, _version, header, size, number, flags = _ENTRY.unpack(elf.at(at, _ENTRY.size))
        if header < _ENTRY.size:
            return
        if kind in (_PTX, _ELF):
            yield _architecture(kind, number, flags)
        at += header + size


def _architecture(kind: int, number: int, flags: int) -> str:
    variant = "a" if flags & _SPECIFIC else "f" if flags & _FAMILY else ""
    return f"{'sm' if kind == _ELF else 'compute'}_{number}{variant}"


def _next_container(elf: ElfFile, at: int, end: int) -> int | None:
    """Return where the next container begins, behind some padding, or None."""
    if end - at < _CONTAINER.size:
        return None
    magic = _MAGIC.to_bytes(4, "little")
    if elf.at(at, len(magic)) == magic:
        return at
    begin = elf.at(at, min(_MOST_PADDING, end - at)).find(magic)
    return at + begin if 0 <= begin <= end - at - _CONTAINER.size else None
