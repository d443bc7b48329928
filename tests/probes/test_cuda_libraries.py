"""Tests of the search for CUDA's libraries outside Python."""

import struct

from gpudoctor.maybe import Unknown
from gpudoctor.probes.nvidia import cuda_libraries
from gpudoctor.recorded_machine import RecordedMachine

LIB = "/usr/local/cuda-12.4/lib64"
SYSTEM = "/usr/lib/x86_64-linux-gnu"


def cache(*entries: tuple[str, str]) -> bytes:
    """A loader's cache for x86_64, in the layout of glibc's dl-cache.h."""
    at, strings, table = 48 + 24 * len(entries), b"", b""
    for soname, path in entries:
        places = at + len(strings), at + len(strings) + len(soname) + 1
        table += struct.pack("=iIIIQ", 0x0303, *places, 0, 0)
        strings += soname.encode() + b"\0" + path.encode() + b"\0"
    return struct.pack("=20sIIB3xI12x", b"glibc-ld.so.cache1.1", len(entries), len(strings), 2, 0) + table + strings


def test_folders_come_before_the_cache_and_links_are_resolved() -> None:
    files: dict[str, str | bytes] = {
        f"{LIB}/libcudart.so.12.4.127": "x" * 7,
        f"{LIB}/libm.so.6": "",
        f"{SYSTEM}/libcudnn.so.9.1.0": "",
        "/etc/ld.so.cache": cache(("libcudnn.so.9", f"{SYSTEM}/libcudnn.so.9"), ("libm.so.6", "/lib/libm.so.6")),
    }
    links = {f"{LIB}/libcudart.so.12": "libcudart.so.12.4.127", f"{SYSTEM}/libcudnn.so.9": "libcudnn.so.9.1.0"}
    seen = cuda_libraries.probe(RecordedMachine(files, links=links, env={"LD_LIBRARY_PATH": f":{LIB}/:relative"}))
    assert not isinstance(seen, Unknown)
    assert [(x.soname, x.path, x.version, x.found_by, x.kind, x.size) for x in seen] == [
        ("libcudart.so.12", f"{LIB}/libcudart.so.12", "12.4.127", "LD_LIBRARY_PATH", "toolkit", 7),
        ("libcudnn.so.9", f"{SYSTEM}/libcudnn.so.9", "9.1.0", "cache", "system", 0),
    ]


def test_stubs_and_wheels_are_told_apart() -> None:
    wheel = "/opt/env/lib/python3.11/site-packages/nvidia/nccl/lib"
    files = {f"{LIB}/stubs/libnvrtc.so": "", f"{wheel}/libnccl.so.2": ""}
    seen = cuda_libraries.probe(RecordedMachine(files, env={"LD_LIBRARY_PATH": f"{LIB}/stubs:{wheel}"}))
    assert not isinstance(seen, Unknown)
    assert [(x.soname, x.kind, x.version) for x in seen] == [
        ("libnvrtc.so", "stub", Unknown("the name libnvrtc.so contains no version")),
        ("libnccl.so.2", "wheel", "2"),
    ]


def test_a_broken_cache_is_unknown_and_a_missing_one_is_empty() -> None:
    broken = RecordedMachine({"/etc/ld.so.cache": b"hello"})
    assert cuda_libraries.probe(broken) == Unknown("/etc/ld.so.cache: not a cache of the dynamic loader")
    assert cuda_libraries.probe(RecordedMachine()) == ()
