"""Shared libraries are read right, and damaged ones are refused with one kind of error."""

import contextlib
import io
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.parsers.elf import NotElfError, defined_symbols, read_dynamic, rodata_string, undefined_symbols
from gpudoctor.parsers.fatbin import kernels
from gpudoctor.parsers.torch_arch import torch_arch_list

from .elves import fatbin, library

FULL: dict[str, Any] = {
    "soname": "libdemo.so.2",
    "needed": ("libcublas.so.12", "libc.so.6"),
    "rpath": "/opt/old",
    "runpath": "$ORIGIN/../lib:/opt/cuda/lib64",
    "defines": ("demo_create", "demo_destroy"),
    "undefined": ("cublasCreate_v2", "malloc"),
    "weak": ("__gmon_start__",),
}
READERS: tuple[Callable[[BinaryIO], Any], ...] = (
    read_dynamic,
    undefined_symbols,
    defined_symbols,
    torch_arch_list,
    kernels,
)


def opened(data: bytes) -> BinaryIO:
    """Return the bytes as an open file."""
    return io.BytesIO(data)


def real_libraries() -> list[Path]:
    """Return the libraries that this Python has mapped: real ones, on every Linux."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    found = {Path(line.split()[-1]) for line in lines if ".so" in line.split()[-1]}
    return sorted(path for path in found if path.is_file())[:6]


def test_dynamic_section() -> None:
    dynamic = read_dynamic(opened(library(**FULL)))
    assert dynamic.soname == "libdemo.so.2"
    assert dynamic.needed == ("libcublas.so.12", "libc.so.6")
    assert dynamic.rpath == ("/opt/old",)
    assert dynamic.runpath == ("$ORIGIN/../lib", "/opt/cuda/lib64")
    assert (dynamic.machine, dynamic.is_64) == ("x86_64", True)


def test_bare_library_has_nothing() -> None:
    dynamic = read_dynamic(opened(library(machine=183)))
    assert (dynamic.soname, dynamic.needed, dynamic.rpath, dynamic.runpath) == (None, (), (), ())
    assert dynamic.machine == "aarch64"


@pytest.mark.parametrize("hash_kind", ["sysv", "gnu", "none"])
def test_symbols(hash_kind: str) -> None:
    file = opened(library(**FULL, hash_kind=hash_kind))
    assert undefined_symbols(file) == {"cublasCreate_v2", "malloc"}
    assert defined_symbols(file) == {"demo_create", "demo_destroy"}


def test_gnu_hash_of_a_library_that_offers_nothing() -> None:
    """The table names no symbol then, though there are undefined ones."""
    file = opened(library(undefined=("cuInit",), hash_kind="gnu"))
    assert undefined_symbols(file) == {"cuInit"}
    assert defined_symbols(file) == frozenset()


def test_many_symbols_cross_the_blocks() -> None:
    names = tuple(f"symbol_{number}_{'x' * 300}" for number in range(9000))
    assert undefined_symbols(opened(library(undefined=names))) == set(names)


@pytest.mark.parametrize("path", real_libraries(), ids=lambda path: path.name)
def test_real_libraries_as_readelf_reads_them(path: Path) -> None:
    if not shutil.which("readelf"):
        pytest.skip("readelf (binutils) is not installed")
    words = ["readelf", "-W", "--dynamic", "--dyn-syms", str(path)]
    text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in text.splitlines()]
    symbols = [row for row in rows if len(row) >= 8 and row[0].rstrip(":").isdigit() and row[4] != "LOCAL"]
    names = {(row[6] == "UND", row[4] == "WEAK", row[7].split("@")[0]) for row in symbols}
    with path.open("rb") as file:
        dynamic = read_dynamic(file)
        assert list(dynamic.needed) == [row[-1].strip("[]") for row in rows if "(NEEDED)" in row]
        assert undefined_symbols(file) == {name for lacks, weak, name in names if lacks and not weak}
        assert defined_symbols(file) == {name for lacks, _, name in names if not lacks}


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"INPUT ( /usr/lib/libcudart.so.12 )\n", bytes(4096)])
@pytest.mark.parametrize("reader", READERS)
def test_not_elf(reader: Callable[[BinaryIO], Any], data: bytes) -> None:
    with pytest.raises(NotElfError):
        reader(opened(data))


def test_no_dynamic_section() -> None:
    data = bytearray(library())
    data[64 + 56] = 4  # PT_NOTE in the place of PT_DYNAMIC
    with pytest.raises(NotElfError, match="not a shared library"):
        read_dynamic(opened(bytes(data)))


def test_every_cut_is_refused_or_read() -> None:
    whole = library(**FULL, hash_kind="gnu", named={".rodata": b"text", ".nv_fatbin": fatbin((2, 80, 0))})
    for size in range(0, len(whole), 7):
        run_all(whole[:size])


def run_all(data: bytes) -> None:
    """Run every reader; whatever it raises but NotElfError fails the test."""
    for reader in READERS:
        with contextlib.suppress(NotElfError):
            reader(opened(data))


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_random_bytes_behind_the_magic(noise: bytes) -> None:
    run_all(noise)
    run_all(b"\x7fELF" + noise)
    run_all(b"\x7fELF\x02\x01\x01" + bytes(9) + noise)
    run_all(b"\x7fELF\x01\x02\x01" + bytes(9) + noise)


WHOLE = library(**FULL, hash_kind="gnu", named={".rodata": b"sm_80", ".nv_fatbin": fatbin((2, 80, 0), (1, 90, 0))})


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 8), st.binary(min_size=1, max_size=8)), min_size=1, max_size=4))
def test_damaged_libraries(damage: list[tuple[int, bytes]]) -> None:
    data = bytearray(WHOLE)
    for at, noise in damage:
        data[at : at + len(noise)] = noise
    run_all(bytes(data))


@pytest.mark.parametrize("noise", [b"\0", b"\0\0", b"\xff", b"\xff\xff", b"\x01\0"])
def test_every_damaged_header_field(noise: bytes) -> None:
    for at in range(16, 64 + 2 * 56):
        run_all(WHOLE[:at] + noise + WHOLE[at + len(noise) :])


def test_rodata_is_searched_by_section() -> None:
    data = library(named={".rodata": b"sm_80 sm_90\0", ".comment": b"elsewhere"})
    assert rodata_string(opened(data), rb"sm_\d+") == b"sm_80"
    assert rodata_string(opened(data), rb"elsewhere") is None


def test_without_sections_the_segments_are_searched() -> None:
    data = library(soname="libelsewhere.so")
    assert rodata_string(opened(data), rb"(?<=\0)lib\w+\.so(?=\0)") == b"libelsewhere.so"


@pytest.mark.parametrize("before", [0, (1 << 20) - 3, (1 << 20) - 1, 1 << 20, 5 << 20])
def test_a_match_across_blocks_is_whole(before: int) -> None:
    text = b"x" * max(before - 1, 0) + b"\0" * bool(before) + b"sm_80 sm_90 sm_120\0"
    found = rodata_string(opened(library(named={".rodata": text})), rb"(?<=\0)sm_\d+( sm_\d+)*")
    assert found == b"sm_80 sm_90 sm_120"


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("sm_75 sm_80 sm_86 sm_90 compute_90", ("sm_75", "sm_80", "sm_86", "sm_90", "compute_90")),
        ("sm_80 sm_90a sm_100f", ("sm_80", "sm_90a", "sm_100f")),
        ("gfx900 gfx90a gfx1100", ("gfx900", "gfx90a", "gfx1100")),
        ("gfx90a:xnack- gfx942:sramecc+:xnack-", ("gfx90a:xnack-", "gfx942:sramecc+:xnack-")),
        ("sm_87", ("sm_87",)),
        ("gfx1100", ("gfx1100",)),
        ("needs sm_80 or newer", None),
        ("sm_80,sm_90", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("with_sections", [True, False])
def test_torch_arch_list(text: str, listed: tuple[str, ...] | None, with_sections: bool) -> None:
    constants = b"\0other\0" + text.encode() + b"\0more\0"
    data = library(named={".rodata": constants}) if with_sections else library(needed=("other", text, "more"))
    assert torch_arch_list(opened(data)) == listed


def test_a_list_goes_before_a_lone_name() -> None:
    data = library(named={".rodata": b"sm_90a\0x\0sm_80 sm_90\0"})
    assert torch_arch_list(opened(data)) == ("sm_80", "sm_90")
