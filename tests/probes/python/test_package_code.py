"""The CUDA code of packages, in real ELF files."""

from pathlib import Path

import pytest

from gpudoctor.facts.python import PackageCode
from gpudoctor.maybe import Unknown
from gpudoctor.probes.python.package_code import probe
from gpudoctor.probes.python.packages import DirectoryNames, entries, find
from tests.parsers.elves import fatbin, library
from tests.probes.environments import distribution, machine

AMPERE, ADA, PTX = (2, 86, 0), (2, 89, 0), (1, 90, 0)


def code(*kinds: tuple[int, int, int]) -> bytes:
    return library(named={".text": b"code", ".nv_fatbin": fatbin(*kinds)} if kinds else {".text": b"code"})


def seen(site: Path) -> tuple[PackageCode, ...]:
    here = machine()
    names = DirectoryNames(here)
    return probe(here, find(here, entries(here, [str(site)], "", None, [str(site)]), names), names)


def lay(site: Path, name: str, **files: bytes) -> None:
    paths = {path.replace("__", "/").replace("_dot_", "."): data for path, data in files.items()}
    distribution(site, name, "2.1.1", tuple(paths), requires=("torch",))
    for path, data in paths.items():
        (site / path).write_bytes(data)


def test_all_libraries_of_a_package_count(tmp_path: Path) -> None:
    lay(
        tmp_path,
        "sageattention",
        sageattention__core_dot_so=code(),
        sageattention__fused_dot_so=code(AMPERE),
        sageattention__qattn_dot_so=code(ADA, PTX),
    )
    (found,) = seen(tmp_path)
    assert (found.package, found.version, found.archs) == ("sageattention", "2.1.1", ("sm_86", "sm_89", "compute_90"))
    assert found.path == f"{tmp_path}/sageattention/fused.so"


def test_a_package_without_gpu_code_is_left_out(tmp_path: Path) -> None:
    lay(tmp_path, "sageattention", sageattention__core_dot_so=code())
    assert seen(tmp_path) == ()


@pytest.mark.parametrize("name", ["x.cu", "x.cubin", "x.ptx", "include/x.cuh"])
def test_code_in_other_files_may_run_where_the_libraries_have_none(tmp_path: Path, name: str) -> None:
    paths = ("sageattention/a.so", f"sageattention/{name}")
    distribution(tmp_path, "sageattention", "1.0", paths, requires=("torch",))
    (tmp_path / paths[0]).write_bytes(code(AMPERE))
    assert isinstance(seen(tmp_path)[0].archs, Unknown)


def test_a_library_that_cannot_be_read_makes_it_unknown(tmp_path: Path) -> None:
    lay(tmp_path, "sageattention", sageattention__a_dot_so=code(AMPERE), sageattention__b_dot_so=library())
    archs = seen(tmp_path)[0].archs
    assert isinstance(archs, Unknown)
    assert "b.so" in archs.unknown


@pytest.mark.parametrize("copied", ["libnvjpeg.4a0b5c81.so.13", "libcudart-c3a75b33.so.12.8.90"])
def test_a_copy_of_the_toolkits_library_is_not_the_packages_code(tmp_path: Path, copied: str) -> None:
    paths = ("torchvision/_C.so", f"torchvision.libs/{copied}")
    distribution(tmp_path, "torchvision", "1.0", paths, requires=("torch",))
    (tmp_path / paths[0]).write_bytes(code(AMPERE))
    (tmp_path / paths[1]).write_bytes(code(ADA))
    assert seen(tmp_path)[0].archs == ("sm_86",)
