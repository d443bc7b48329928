"""Writes small ELF libraries, so that no test needs a compiler or a GPU."""

import struct

SYMBOL_64 = struct.Struct("<IBBHQQ")


class Strings:
    """A string table."""

    def __init__(self) -> None:
        self.data = b"\0"

    def add(self, text: str) -> int:
        """Append a string and return where it stands."""
        at = len(self.data)
        self.data += text.encode() + b"\0"
        return at


def library(
    soname: str = "",
    needed: tuple[str, ...] = (),
    rpath: str = "",
    runpath: str = "",
    defines: tuple[str, ...] = (),
    undefined: tuple[str, ...] = (),
    weak: tuple[str, ...] = (),
    hash_kind: str = "sysv",
    named: dict[str, bytes] | None = None,
    machine: int = 62,
    stack: int | None = None,
) -> bytes:
    """Return a 64-bit little-endian library; `named` are sections with headers, none where it is None.

    `stack` are the flags of PT_GNU_STACK, which is missing where it is None.
    """
    strings = Strings()
    tags = [(1, strings.add(name)) for name in needed]
    tags += [(tag, strings.add(text)) for tag, text in ((14, soname), (15, rpath), (29, runpath)) if text]
    symbols = bytes(24)
    for name in undefined:
        symbols += SYMBOL_64.pack(strings.add(name), 0x12, 0, 0, 0, 0)
    for name in weak:
        symbols += SYMBOL_64.pack(strings.add(name), 0x20, 0, 0, 0, 0)
    for name in defines:
        symbols += SYMBOL_64.pack(strings.add(name), 0x12, 0, 5, 0, 0)
    hashes = _hashes(hash_kind, 1 + len(undefined) + len(weak), len(defines))
    headers = 2 if stack is None else 3
    at = 64 + headers * 56
    parts = []
    for tag, part in ((6, symbols), (5, strings.data), (_HASH_TAG[hash_kind], hashes)):
        parts.append(part + b"\0" * (-len(part) % 8))
        if tag:
            tags.append((tag, at))
        at += len(parts[-1])
    tags += [(10, len(strings.data)), (0, 0)]
    dynamic = b"".join(struct.pack("<QQ", *tag) for tag in tags)
    body = b"".join(parts) + dynamic
    tail, section_at, sections, names_index = _sections(named, at + len(dynamic))
    size = at + len(dynamic) + len(tail)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack(
        "<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, section_at, 0, 64, 56, headers, 64, sections, names_index
    )
    header += struct.pack("<IIQQQQQQ", 1, 6, 0, 0, 0, size, size, 4096)
    header += struct.pack("<IIQQQQQQ", 2, 6, at, at, at, len(dynamic), len(dynamic), 8)
    if stack is not None:
        header += struct.pack("<IIQQQQQQ", 0x6474E551, stack, 0, 0, 0, 0, 0, 16)
    return header + body + tail


_HASH_TAG = {"sysv": 4, "gnu": 0x6FFFFEF5, "none": 0}


def _hashes(kind: str, before: int, defined: int) -> bytes:
    """Return a hash table with one bucket; `before` symbols stand before the defined ones."""
    if kind == "sysv":
        return struct.pack("<IIII", 1, before + defined, 0, 0)
    if kind == "gnu":
        chain = [0] * (defined - 1) + [1] if defined else []
        return struct.pack(f"<IIIIQI{defined}I", 1, before, 1, 0, 0, before if defined else 0, *chain)
    return b""


def _sections(named: dict[str, bytes] | None, at: int) -> tuple[bytes, int, int, int]:
    """Return the sections' bytes with their headers, and what the ELF header says of these."""
    if named is None:
        return b"", 0, 0, 0
    names = Strings()
    data, headers = b"", bytes(64)
    for name, content in named.items():
        headers += struct.pack("<IIQQQQIIQQ", names.add(name), 1, 2, 0, at + len(data), len(content), 0, 0, 8, 0)
        data += content
    own = names.add(".shstrtab")
    headers += struct.pack("<IIQQQQIIQQ", own, 3, 0, 0, at + len(data), len(names.data), 0, 0, 1, 0)
    data += names.data
    return data + headers, at + len(data), len(named) + 2, len(named) + 1


def fatbin(*entries: tuple[int, int, int], code: int = 16, header: int = 64) -> bytes:
    """Return one container of GPU code; an entry is (kind, architecture, flags)."""
    body = b""
    for kind, number, flags in entries:
        body += struct.pack("<HHIQ12xI8xQ", kind, 0x101, header, code, number, flags).ljust(header, b"\0") + bytes(code)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def bundle(*ids: str, code: int = 64) -> bytes:
    """Return one bundle of HIP's code objects, one for each ID."""
    head = 32 + sum(24 + len(one) for one in ids)
    entries = b"".join(
        struct.pack("<QQQ", head + code * at, code, len(one)) + one.encode() for at, one in enumerate(ids)
    )
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(ids)) + entries + bytes(code * len(ids))
