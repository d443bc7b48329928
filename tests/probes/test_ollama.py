"""Tests of the probe of Ollama."""

import pytest

from gpudoctor.facts import Host, Ollama
from gpudoctor.facts.ollama import NO_OLLAMA
from gpudoctor.maybe import Unknown
from gpudoctor.probes import ollama
from gpudoctor.recorded_machine import RecordedMachine

ENV = {"PATH": "/usr/local/bin:/usr/bin", "OLLAMA_HOST": "https://far.example"}
PROGRAM = {"/usr/local/bin/ollama": "\x7fELF"}
WITH, WITHOUT = Host(cpu_flags=("avx", "pni")), Host(cpu_flags=("pni",))
LIB = "/usr/local/lib/ollama"


NOT_ASKED = Unknown("not asked: neither the CPU, nor the driver, nor a setting makes it matter")


def look(files: dict[str, str], host: Host = WITH, wanted: bool = True, version: str = "") -> Ollama:
    machine = RecordedMachine(PROGRAM | files, env=ENV, commands={"ollama --version": version})
    return ollama.probe(machine, host, wanted)


@pytest.mark.parametrize(
    ("files", "directory", "backends", "copies"),
    [
        (
            [f"{LIB}/libggml-base.so", f"{LIB}/libggml-cpu-haswell.so", f"{LIB}/cuda_v13/libggml-cuda.so"],
            LIB,
            ("base", "cpu", "cuda"),
            (),
        ),
        (
            [f"{LIB}/libggml-cpu.so", f"{LIB}/vulkan/libggml-vulkan.so", "/usr/lib/ollama/rocm/libggml-hip.so"],
            LIB,
            ("cpu", "vulkan"),
            ("/usr/lib/ollama/rocm",),
        ),
        ([f"{LIB}/libggml-hip.so.1", f"{LIB}/libggml-cpu.so"], LIB, ("cpu", "hip"), ()),  # side by side
        ([f"{LIB}/runners/cuda_v12_avx/x", f"{LIB}/runners/rocm_avx/x"], LIB, ("cuda", "hip"), ()),
        ([f"{LIB}/libcublas.so.12"], None, (), ()),
        ([], None, (), ()),
    ],
)
def test_libraries(files: list[str], directory: object, backends: object, copies: object) -> None:
    seen = look(dict.fromkeys(files, ""))
    assert (seen.program, seen.directory, seen.backends) == ("/usr/local/bin/ollama", directory, backends)
    assert seen.copies == copies
    assert isinstance(seen.release, Unknown)


@pytest.mark.parametrize(
    ("program", "links", "unit", "elsewhere"),
    [
        ("#!/bin/sh\nexec docker exec -it ollama ollama", {}, "", True),
        ("#!/bin/sh", {}, "[Service]\nExecStart=/usr/local/bin/ollama serve\n", False),
        ("\x7fELF", {"/usr/local/bin/ollama": "/usr/bin/snap"}, "", True),
        ("\x7fELF", {"/usr/local/bin/ollama": "/opt/ollama-linux-amd64"}, "", False),
    ],
)
def test_a_program_that_is_not_ollama_itself(program: str, links: dict[str, str], unit: str, elsewhere: bool) -> None:
    own = links.get("/usr/local/bin/ollama", "/usr/local/bin/ollama")
    files = {own: program, "/etc/systemd/system/ollama.service": unit}
    machine = RecordedMachine(files, links=links, env=ENV, commands={"ollama --version": "ollama version is 0.9.0"})
    seen = ollama.probe(machine, WITH, True)
    assert isinstance(seen.backends, Unknown) is elsewhere
    assert isinstance(seen.release, Unknown) is elsewhere


def test_nothing_is_asked_without_ollama_or_a_gpu() -> None:
    machine = RecordedMachine(env=ENV)
    assert ollama.probe(machine, WITHOUT, True) == NO_OLLAMA
    assert isinstance(look({}, WITHOUT, wanted=False).backends, Unknown)


@pytest.mark.parametrize(
    ("host", "printed", "release"),
    [
        (WITHOUT, "ollama version is 0.5.7\n", "0.5.7"),
        (
            WITHOUT,
            "Warning: could not connect to a running Ollama instance\nWarning: client version is 0.5.7\n",
            "0.5.7",
        ),
        (WITHOUT, "none", Unknown("ollama --version: no release")),
        (Host(cpu_flags=Unknown("no /proc")), "ollama version is 0.5.7\n", Unknown("no /proc")),
        (WITH, "ollama version is 0.5.7\n", NOT_ASKED),
        (Host(cpu_flags=None), "ollama version is 0.5.7\n", NOT_ASKED),
    ],
)
def test_release(host: Host, printed: str, release: object) -> None:
    assert look({f"{LIB}/libggml-cpu.so": ""}, host, version=printed).release == release


def test_a_quick_check_starts_nothing() -> None:
    machine = RecordedMachine(PROGRAM, env=ENV, commands={"ollama --version": "ollama version is 0.5.7"})
    assert isinstance(ollama.probe(machine, WITHOUT, True, quick=True).release, Unknown)
    assert machine.ran == []


@pytest.mark.parametrize("folder", [f"{LIB}/rocm/rocblas/library", f"{LIB}/rocblas/library"])
def test_the_targets_of_its_rocblas(folder: str) -> None:
    names = ("TensileLibrary_lazy_gfx1100.dat", "TensileLibrary_lazy_gfx90a.dat", "Kernels.so-000-gfx1010.hsaco")
    seen = look({f"{LIB}/rocm/libggml-hip.so": ""} | {f"{folder}/{name}": "" for name in names})
    assert seen.gfx == ("gfx1100", "gfx90a")
    assert look({f"{LIB}/libggml-cpu.so": ""}).gfx == ()
