"""What ROCm's runtimes link to, and whether the loader finds it."""

from pathlib import Path

import pytest

from gpudoctor.facts.amd import UnloadableLibrary
from gpudoctor.maybe import Unknown
from gpudoctor.probes.amd.runtime_libraries import unloadable
from tests.parsers.elves import library
from tests.probes.environments import machine
from tests.probes.test_hip import lay

HSA, HIP, DXCORE = "lib/libhsa-runtime64.so.1", "lib/libamdhip64.so.7", "libdxcore.so"
PLAIN = library("libhsa-runtime64.so.1")
FOR_WSL = library("libhsa-runtime64.so.1", needed=(DXCORE,))
ON_HSA = library("libamdhip64.so.7", needed=("libhsa-runtime64.so.1",), runpath="$ORIGIN")


@pytest.mark.parametrize(
    ("files", "variable", "lacks"),
    [
        ({HSA: PLAIN, HIP: ON_HSA}, "", {}),
        ({HSA: FOR_WSL, HIP: ON_HSA}, "", {HSA: (DXCORE,)}),
        ({HSA: FOR_WSL, f"lib/{DXCORE}": b""}, "", {}),  # next to it
        ({HSA: FOR_WSL, f"elsewhere/{DXCORE}": b""}, "elsewhere", {}),  # on LD_LIBRARY_PATH
        ({HSA: FOR_WSL, f"elsewhere/{DXCORE}": b""}, "", {HSA: (DXCORE,)}),
        ({HSA: FOR_WSL, f"lib/rocm_sysdeps/lib/{DXCORE}": b""}, "", {}),
        ({HIP: library("libamdhip64.so.7", needed=("libgone.so.1",))}, "", {HIP: ("libgone.so.1",)}),
    ],
)
def test_what_a_runtime_links_to(
    tmp_path: Path, files: dict[str, bytes], variable: str, lacks: dict[str, tuple[str, ...]]
) -> None:
    lay(tmp_path, files)
    env = {"LD_LIBRARY_PATH": f"{tmp_path}/{variable}"} if variable else {}
    hip = f"{tmp_path}/{HIP}" if HIP in files else None
    expected = tuple(UnloadableLibrary(path=f"{tmp_path}/{name}", lacks=lacks[name]) for name in lacks)
    assert unloadable(machine(**env), str(tmp_path), hip) == expected


def test_a_file_that_is_no_library_is_unknown(tmp_path: Path) -> None:
    lay(tmp_path, {HSA: b"version https://git-lfs.github.com/spec/v1"})
    assert isinstance(unloadable(machine(), str(tmp_path), None), Unknown)
