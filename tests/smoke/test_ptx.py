"""The shipped PTX is that of kernels.cu, fits what the backend passes, and is assembled for every GPU since Maxwell."""

import hashlib
import importlib.util
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest

import gpudoctor
from gpudoctor.workers.smoke.cuda import kernels
from tests.smoke import ptxas

ROOT = Path(gpudoctor.__file__).parent.parent
TEXT = Path(kernels.PTX).read_text(encoding="ascii")
SOURCE = Path(kernels.PTX).with_suffix(".cu").read_text(encoding="ascii")
KINDS = {"u64": "pn", "u32": "i", "f32": "f"}
FOUND = ptxas.installed()


def test_it_is_made_of_the_source_beside_it() -> None:
    assert TEXT.splitlines()[1] == f"// {hashlib.sha256(SOURCE.encode()).hexdigest()}", "run docs/make_ptx.py"


def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_ptx", ROOT / "docs/make_ptx.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc on PATH to make it again")
def test_making_it_again_gives_the_same() -> None:
    make = maker()
    version = re.findall(r"nvcc (\S+) from", TEXT)[0]
    if make.release() != version:
        pytest.skip(f"it was made with nvcc {version}, and this is {make.release()}")
    assert make.head(version) + make.marked(make.compiled()) == TEXT


def test_a_header_that_nvcc_writes_otherwise_is_refused() -> None:
    with pytest.raises(ValueError, match="nvcc wrote 0 lines"):
        maker().marked(".version 9.0\n.target_of_another_kind sm_75\n")


def test_the_oldest_driver_and_gpu_may_read_it() -> None:
    assert TEXT.splitlines()[2:5] == [".version 6.0", ".target sm_50", ".address_size 64"]
    assert kernels.OLDEST == (5, 0)


def test_no_kernel_adds_in_an_order_that_may_change() -> None:
    assert not re.findall(r"^\s*(?:@\S+\s+)?(?:atom|red)\.\S+", TEXT, re.MULTILINE)


def test_each_kernel_takes_what_the_backend_passes() -> None:
    found = {
        name: re.findall(r"\.param \.(\w+) ", parameters)
        for name, parameters in re.findall(r"\.visible \.entry (\w+)\((.*?)\)", TEXT, re.DOTALL)
    }
    assert set(found) == set(kernels.PARAMETERS)
    for name, kinds in kernels.PARAMETERS.items():
        assert len(kinds) == len(found[name]), name
        assert all(kind in KINDS[written] for kind, written in zip(kinds, found[name], strict=True)), name


def test_sizes_are_those_of_the_source() -> None:
    defined = dict(re.findall(r"^#define (THREADS|TILE|SPAN) \(?(.+?)\)?(?: *(?:/\*.*)?)$", SOURCE, re.MULTILINE))
    assert (int(defined["THREADS"]), int(defined["TILE"])) == (kernels.THREADS, kernels.TILE)
    assert (defined["SPAN"], kernels.SPAN) == ("THREADS * 16", kernels.THREADS * 16)
    assert kernels.SPAN * 15 < 1 << 24  # a sum of it is exact in float32


@pytest.mark.skipif(not FOUND, reason="no ptxas on PATH, in CUDA_HOME, in a wheel of NVIDIA's or in Triton")
@pytest.mark.parametrize("path", FOUND or [""])
def test_every_assembler_of_this_machine_takes_it_for_every_gpu_it_knows(path: str) -> None:
    known = ptxas.known(path)
    assert known
    assert [words for words in (ptxas.trouble(path, arch) for arch in known) if words] == []
