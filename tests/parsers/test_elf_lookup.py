"""Names looked up in symbol hash tables."""

import contextlib
import io
import shutil
import subprocess
from pathlib import Path

import pytest

from gpudoctor.parsers.elf import NotElfError, defined_symbols
from gpudoctor.parsers.elf.dynamic import DT_GNU_HASH, read_tags
from gpudoctor.parsers.elf.headers import ElfFile
from gpudoctor.parsers.elf.lookup import defines, gnu_hash
from tests.parsers.elves import library

NAMES = [f"symbol_{i}" for i in range(300)]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A library from a real linker, with a GNU hash table."""
    if shutil.which("gcc") is None:
        pytest.skip("needs a compiler")
    folder: Path = tmp_path_factory.mktemp("real")
    calls = "".join(f"void {name}(void) {{ elsewhere(); }}\n" for name in NAMES)
    (folder / "a.c").write_text(f"extern void elsewhere(void);\n{calls}")
    command = ["gcc", "-shared", "-fPIC", "-Wl,--hash-style=gnu", "-nostdlib", "-o", "a.so", "a.c"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return (folder / "a.so").read_bytes()


def table(data: bytes) -> int:
    elf = ElfFile(io.BytesIO(data))
    return elf.offset_of(dict(read_tags(elf))[DT_GNU_HASH])


@pytest.mark.parametrize(
    ("name", "value"), [(b"", 0x1505), (b"printf", 0x156B2BB8), (b"exit", 0x7C967E3F), (b"syscall", 0xBAC212A0)]
)
def test_hash(name: bytes, value: int) -> None:
    assert gnu_hash(name) == value


def test_a_library_without_gnu_hash_is_read_whole() -> None:
    data = library(defines=("_ZN3c105ErrorE",), undefined=("_ZN2at5emptyE",))
    assert defines(io.BytesIO(data), ["_ZN3c105ErrorE", "_ZN2at5emptyE", "x"]) == {"_ZN3c105ErrorE"}


def test_every_symbol_of_a_real_library_is_found_and_no_other(real: bytes) -> None:
    offered = defined_symbols(io.BytesIO(real))
    assert offered >= set(NAMES)
    assert defines(io.BytesIO(real), [*offered, "elsewhere", "symbol_300", "symbol", ""]) == offered


def test_a_damaged_table_is_refused_or_read_without_inventing_names(real: bytes) -> None:
    begin = table(real)
    for at in range(begin, begin + 4000, 52):
        damaged = real[:at] + b"\xff" * 4 + real[at + 4 :]
        with contextlib.suppress(NotElfError):
            assert defines(io.BytesIO(damaged), [*NAMES, "elsewhere"]) <= set(NAMES)


@pytest.mark.parametrize("field", [0, 8])  # the number of buckets, and of words of the filter
def test_a_table_of_no_size_is_refused(real: bytes, field: int) -> None:
    at = table(real) + field
    with pytest.raises(NotElfError, match="not sound"):
        defines(io.BytesIO(real[:at] + bytes(4) + real[at + 4 :]), NAMES)
