"""The loader's cache is read as the loader and ldconfig read it."""

import contextlib
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.parsers.ldcache import CacheFormatError, parse

X86_64, AARCH64, I686 = 0x0303, 0x0A03, 0x0003
pytestmark = pytest.mark.skipif(sys.byteorder != "little", reason="the caches written here are little-endian")


def cache(*entries: tuple[int, str, str], old_entries: int | None = None, order: int = 2, hwcap: int = 0) -> bytes:
    """Return a cache; an entry is (flags, soname, path). With `old_entries` an old cache stands before it."""
    strings = b""
    rows = b""
    base = 48 + 24 * len(entries)
    for flags, soname, path in entries:
        rows += struct.pack("<iIIIQ", flags, base + len(strings), base + len(strings) + len(soname) + 1, 0, hwcap)
        strings += f"{soname}\0{path}\0".encode()
    new = struct.pack("<20sIIB3xI12x", b"glibc-ld.so.cache1.1", len(entries), len(strings), order, 0) + rows + strings
    if old_entries is None:
        return new
    old = b"ld.so-1.7.0\0" + struct.pack("<I", old_entries) + bytes(12 * old_entries)
    return old + bytes(-len(old) % 8) + new


MIXED = (
    (X86_64, "libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"),
    (I686, "libcuda.so.1", "/usr/lib/i386-linux-gnu/libcuda.so.1"),
    (X86_64, "libcuda.so.1", "/usr/local/cuda/compat/libcuda.so.1"),
    (AARCH64, "libcudart.so.12", "/usr/lib/aarch64-linux-gnu/libcudart.so.12"),
)


@pytest.mark.parametrize("old_entries", [None, 0, 1, 2, 3])
def test_entries_of_this_machine_in_order(old_entries: int | None) -> None:
    data = cache(*MIXED, old_entries=old_entries)
    paths = ("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/local/cuda/compat/libcuda.so.1")
    assert parse(data, "x86_64") == {"libcuda.so.1": paths}
    assert parse(data, "aarch64") == {"libcudart.so.12": ("/usr/lib/aarch64-linux-gnu/libcudart.so.12",)}
    assert parse(data, "i686") == {"libcuda.so.1": ("/usr/lib/i386-linux-gnu/libcuda.so.1",)}


def test_an_unknown_machine_sees_all() -> None:
    assert {name: len(paths) for name, paths in parse(cache(*MIXED), "vax").items()} == {
        "libcuda.so.1": 3,
        "libcudart.so.12": 1,
    }


def test_builds_for_newer_processors_count_too() -> None:
    data = cache((X86_64, "libz.so.1", "/usr/lib/glibc-hwcaps/x86-64-v3/libz.so.1"), hwcap=1 << 62)
    assert parse(data, "x86_64") == {"libz.so.1": ("/usr/lib/glibc-hwcaps/x86-64-v3/libz.so.1",)}


@pytest.mark.parametrize("folder", ["/usr/lib", "/opt/größer"])
def test_a_soname_that_is_the_end_of_its_path(folder: str) -> None:
    path = f"{folder}/libz.so.1"
    data = cache((X86_64, "", path))
    at = data.index(path.encode()) + len(folder.encode()) + 1
    row = struct.pack("<iI", X86_64, at)
    assert parse(data[:48] + row + data[48 + len(row) :], "x86_64") == {"libz.so.1": (path,)}


def test_an_empty_cache() -> None:
    assert parse(cache(), "x86_64") == {}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not a cache"),
        (b"[section]\n", "not a cache"),
        (b"ld.so-1.7.0\0" + bytes(400), "before glibc 2.2"),
        (b"ld.so-1.7.0", "cut short"),
        (b"glibc-ld.so.cache1.1", "cut short"),
        (cache(*MIXED)[:80], "cut short"),
        (cache(*MIXED)[:-1], "no end"),
        (cache(*MIXED, order=3), "byte order"),
    ],
)
def test_what_is_no_cache(data: bytes, why: str) -> None:
    with pytest.raises(CacheFormatError, match=why):
        parse(data, "aarch64")


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 200), st.binary(min_size=1, max_size=8)), max_size=4), st.integers(0, 400))
def test_damage_raises_one_kind_of_error(damage: list[tuple[int, bytes]], size: int) -> None:
    data = bytearray(cache(*MIXED, old_entries=1))
    for at, noise in damage:
        data[at : at + len(noise)] = noise
    with contextlib.suppress(CacheFormatError):
        parse(bytes(data[:size]), "x86_64")


def test_as_ldconfig_reads_it() -> None:
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin:/usr/bin")
    file = Path("/etc/ld.so.cache")
    if not ldconfig or not file.exists():
        pytest.skip("no ldconfig or no cache on this machine")
    text = subprocess.run([ldconfig, "-p"], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^\t(\S+) \((?:libc6|ELF),(?:x86-64|AArch64)[^)]*\) => (.+)$", text, re.MULTILINE)
    found = parse(file.read_bytes())
    assert [(name, path) for name, paths in found.items() for path in paths] == sorted(
        rows, key=lambda row: [name for name, _ in rows].index(row[0])
    )
