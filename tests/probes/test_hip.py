"""What ROCm's HIP runtime links to or opens, and where that is."""

from pathlib import Path

import pytest

from gpudoctor.maybe import Unknown
from gpudoctor.probes.amd.hip import runtime
from tests.parsers.elves import library
from tests.probes.environments import machine

HIP, COMGR = "lib/libamdhip64.so.7", "libamd_comgr.so.3"
TEXT = f"{COMGR}\0Failed to load COMGR library.\0".encode()
OPENS = library("libamdhip64.so.7", needed=("libhsa-runtime64.so.1",), named={".rodata": TEXT})
LINKS = library("libamdhip64.so.7", needed=("libhsa-runtime64.so.1", COMGR), runpath="$ORIGIN")


def lay(root: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


@pytest.mark.parametrize(
    ("files", "path", "lacks"),
    [
        ({HIP: OPENS}, "", (COMGR,)),
        ({HIP: LINKS}, "", (COMGR,)),
        ({HIP: OPENS, f"lib/{COMGR}": b""}, "", ()),
        ({HIP: OPENS, f"lib64/{COMGR}": b""}, "", ()),
        ({HIP: OPENS, f"elsewhere/{COMGR}": b""}, "elsewhere", ()),  # on LD_LIBRARY_PATH
        ({HIP: OPENS, f"elsewhere/{COMGR}": b""}, "", (COMGR,)),
        ({HIP: library("libamdhip64.so.7")}, "", ()),  # it names none: it has COMGR in itself
    ],
)
def test_comgr_of_the_hip_runtime(tmp_path: Path, files: dict[str, bytes], path: str, lacks: tuple[str, ...]) -> None:
    lay(tmp_path, files)
    env = {"LD_LIBRARY_PATH": f"{tmp_path}/{path}"} if path else {}
    assert runtime(machine(**env), str(tmp_path)) == (f"{tmp_path}/{HIP}", lacks)


def test_no_hip_runtime_lacks_nothing(tmp_path: Path) -> None:
    lay(tmp_path, {"lib/libhsa-runtime64.so.1": b""})
    assert runtime(machine(), str(tmp_path)) == (None, ())


def test_a_file_that_is_no_library_is_unknown(tmp_path: Path) -> None:
    lay(tmp_path, {HIP: b"version https://git-lfs.github.com/spec/v1"})
    path, lacks = runtime(machine(), str(tmp_path))
    assert path == f"{tmp_path}/{HIP}"
    assert isinstance(lacks, Unknown)
