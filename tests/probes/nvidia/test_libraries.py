"""Which copy of the driver's libraries the loader would take, and which others lie about."""

import struct

import pytest

from gpudoctor.facts import DriverLibrary, Host
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes.nvidia.libraries import OFF_PATH, probe
from gpudoctor.recorded_machine import RecordedMachine

LIB = "/usr/lib/x86_64-linux-gnu"
VERSION = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {}  Thu Feb 22 01:44:30 UTC 2024\n"


def cache(*entries: tuple[str, str]) -> bytes:
    """A loader's cache for x86-64 that names these sonames and paths."""
    head, strings = 48 + 24 * len(entries), b""
    table = b""
    for soname, path in entries:
        at = head + len(strings)
        strings += f"{soname}\0{path}\0".encode()
        table += struct.pack("<iIIIQ", 0x0303, at, at + len(soname) + 1, 0, 0)
    return struct.pack("<20sIIB3xI12x", b"glibc-ld.so.cache1.1", len(entries), len(strings), 2, 0) + table + strings


def driver(version: str, folder: str = LIB, *, names: tuple[str, ...] = ("libcuda", "libnvidia-ml")) -> RecordedMachine:
    return machine({f"{folder}/{name}.so.{version}": "x" for name in names}, links=links(version, folder, names))


def links(version: str, folder: str, names: tuple[str, ...] = ("libcuda", "libnvidia-ml")) -> dict[str, str]:
    return {f"{folder}/{name}.so.1": f"{name}.so.{version}" for name in names}


def machine(files: dict[str, str | bytes], **other: object) -> RecordedMachine:
    return RecordedMachine(files, **other)  # type: ignore[arg-type]


def short(found: Maybe[tuple[DriverLibrary, ...]]) -> list[tuple[str, str, str]]:
    assert isinstance(found, tuple)
    return [(library.path, library.found_by, library.kind) for library in found]


def test_a_machine_without_a_driver_has_no_copies() -> None:
    assert probe(RecordedMachine(), Host()) == ((), (), (), ())


def test_the_cache_comes_before_the_default_folders_and_a_file_appears_once() -> None:
    there = machine(
        {
            "/etc/ld.so.cache": cache(("libcuda.so.1", "/opt/nvidia/libcuda.so.1")),
            "/opt/nvidia/libcuda.so.550.54.14": "x",
            f"{LIB}/libnvidia-ml.so.550.54.14": "x",
        },
        links={
            "/opt/nvidia/libcuda.so.1": "libcuda.so.550.54.14",
            f"{LIB}/libcuda.so.1": "/opt/nvidia/libcuda.so.550.54.14",
            f"{LIB}/libnvidia-ml.so.1": "libnvidia-ml.so.550.54.14",
        },
    )
    cuda, nvml, _, _ = probe(there, Host())
    assert cuda == (
        DriverLibrary(
            soname="libcuda.so.1",
            path="/opt/nvidia/libcuda.so.1",
            real="/opt/nvidia/libcuda.so.550.54.14",
            version="550.54.14",
            found_by="cache",
            kind="driver",
            size=1,
        ),
    )
    assert short(nvml) == [(f"{LIB}/libnvidia-ml.so.1", "default directory", "driver")]


def test_a_compatibility_package_on_the_path_comes_first() -> None:
    compat = "/usr/local/cuda-12.9/compat"
    there = machine(
        {f"{compat}/libcuda.so.575.57.08": "x", f"{LIB}/libcuda.so.580.105.08": "x"},
        links=links("575.57.08", compat, ("libcuda",)) | links("580.105.08", LIB, ("libcuda",)),
        env={"LD_LIBRARY_PATH": compat},
    )
    assert short(probe(there, Host())[0]) == [
        (f"{compat}/libcuda.so.1", "LD_LIBRARY_PATH", "compat"),
        (f"{LIB}/libcuda.so.1", "default directory", "driver"),
    ]


def test_a_compatibility_package_off_the_path_is_listed_last() -> None:
    compat = "/usr/local/cuda-12.9/compat"
    there = machine(
        {f"{compat}/libcuda.so.575.57.08": "x", f"{LIB}/libcuda.so.550.54.14": "x"},
        links=links("575.57.08", compat, ("libcuda",)) | links("550.54.14", LIB, ("libcuda",)),
    )
    assert short(probe(there, Host())[0])[1:] == [(f"{compat}/libcuda.so.1", OFF_PATH, "compat")]


def test_a_libcuda_of_another_version_than_the_driver_is_no_driver() -> None:
    there = machine(
        {
            "/proc/driver/nvidia/version": VERSION.format("550.54.14"),
            "/opt/app/libcuda.so.535.54.03": "x",
            f"{LIB}/libnvidia-ml.so.550.54.14": "x",
            f"{LIB}/libcuda.so.550.54.14": "x",
        },
        links=links("550.54.14", LIB) | links("535.54.03", "/opt/app", ("libcuda",)),
        env={"LD_LIBRARY_PATH": "/opt/app"},
    )
    assert [library[2] for library in short(probe(there, Host())[0])] == ["compat", "driver"]


def test_an_upgraded_driver_before_the_reboot_is_still_the_driver() -> None:
    there = machine(
        {
            "/proc/driver/nvidia/version": VERSION.format("550.54.14"),
            f"{LIB}/libcuda.so.550.90.07": "x",
            f"{LIB}/libnvidia-ml.so.550.90.07": "x",
        },
        links=links("550.90.07", LIB),
    )
    assert [library[2] for library in short(probe(there, Host())[0])] == ["driver"]


@pytest.mark.parametrize("name", ["libcuda.so.1", "libcuda.so"])
def test_a_stub_is_a_stub_under_either_name(name: str) -> None:
    stubs = "/opt/cuda-12.1/lib64/stubs"
    there = machine({f"{stubs}/{name}": "x"}, env={"LD_LIBRARY_PATH": f"/opt/cuda-12.1/lib64:{stubs}"})
    assert probe(there, Host())[0] == (
        DriverLibrary(
            soname=name,
            path=f"{stubs}/{name}",
            real=f"{stubs}/{name}",
            version=None,
            found_by="LD_LIBRARY_PATH",
            kind="stub",
            size=1,
        ),
    )


def test_a_link_to_a_stub_is_a_stub() -> None:
    there = machine(
        {"/usr/local/cuda-12.1/lib64/stubs/libcuda.so": "x"},
        links={f"{LIB}/libcuda.so.1": "/usr/local/cuda-12.1/lib64/stubs/libcuda.so"},
    )
    assert short(probe(there, Host())[0]) == [(f"{LIB}/libcuda.so.1", "default directory", "stub")]


def test_the_drivers_libcuda_so_beside_its_soname_is_not_listed_twice() -> None:
    there = machine(
        {"/opt/nvidia/libcuda.so.550.54.14": "x"},
        links={
            "/opt/nvidia/libcuda.so.1": "libcuda.so.550.54.14",
            "/opt/nvidia/libcuda.so": "libcuda.so.1",
        },
        env={"LD_LIBRARY_PATH": "/opt/nvidia"},
    )
    assert [library[0] for library in short(probe(there, Host())[0])] == ["/opt/nvidia/libcuda.so.1"]


def test_wsls_copy_has_no_version_of_its_own() -> None:
    there = machine(
        {"/usr/lib/wsl/lib/libcuda.so.1.1": "x", f"{LIB}/libcuda.so.510.60.02": "x"},
        links={"/usr/lib/wsl/lib/libcuda.so.1": "libcuda.so.1.1"} | links("510.60.02", LIB, ("libcuda",)),
    )
    cuda, _, _, _ = probe(there, Host())
    assert short(cuda) == [
        (f"{LIB}/libcuda.so.1", "default directory", "driver"),
        ("/usr/lib/wsl/lib/libcuda.so.1", OFF_PATH, "wsl"),
    ]
    assert isinstance(cuda, tuple)
    assert [library.version for library in cuda] == ["510.60.02", None]


def test_an_empty_remnant_of_another_version_is_listed_with_its_size() -> None:
    there = machine(
        {f"{LIB}/libnvidia-ml.so.550.54.14": "x", f"{LIB}/libnvidia-ml.so.535.129.03": ""},
        links=links("550.54.14", LIB, ("libnvidia-ml",)),
    )
    _, nvml, _, _ = probe(there, Host())
    assert isinstance(nvml, tuple)
    assert [(lib.version, lib.size, lib.kind) for lib in nvml] == [
        ("550.54.14", 1, "driver"),
        ("535.129.03", 0, "other"),
    ]


def test_a_copy_without_a_version_in_its_name_is_unknown_and_not_versionless() -> None:
    path = "/opt/app/libcuda.so.1"
    cuda, _, _, _ = probe(machine({path: "x"}, env={"LD_LIBRARY_PATH": "/opt/app"}), Host())
    assert isinstance(cuda, tuple)
    assert cuda[0].version == Unknown(f"the name of {path} contains no driver version")


def test_32_bit_copies_are_passed_over() -> None:
    there = machine(
        {"/usr/lib/libcuda.so.1": "x", "/usr/lib/i386-linux-gnu/libcuda.so.1": "x", "/usr/lib64/libc.so.6": "x"}
    )
    assert probe(there, Host())[0] == ()


def test_the_further_libraries_are_found_too() -> None:
    names = ("libcuda", "libnvidia-ptxjitcompiler", "libnvidia-gpucomp")
    _, _, others, _ = probe(driver("550.54.14", names=names), Host())
    assert [library.real for library in others] == [
        f"{LIB}/libnvidia-ptxjitcompiler.so.550.54.14",
        f"{LIB}/libnvidia-gpucomp.so.550.54.14",
    ]


def test_a_closed_cache_is_no_proof_of_absence() -> None:
    there = RecordedMachine({"/etc/ld.so.cache": b""}, errors={"/etc/ld.so.cache": "EACCES"})
    cuda, _, _, _ = probe(there, Host())
    assert cuda == Unknown("/etc/ld.so.cache: [Errno 13] Permission denied: '/etc/ld.so.cache'")
