"""PyTorch that links to libraries of NVIDIA which no wheel brings, and PyTorch on a Jetson."""

import pytest

from gpudoctor.checks.packages.library_missing import library_missing
from gpudoctor.checks.pytorch.import_fails import import_fails
from gpudoctor.facts import Facts
from gpudoctor.facts.host import PackageSource
from tests.builders import change, live
from tests.checks.environments import commands, environment, machine, torch

GONE = "cannot open shared object file: No such file or directory"
NVPL = "libnvpl_lapack_lp64_gomp.so.0"


def lacking(soname: str, **fields: object) -> Facts:
    """A Jetson with JetPack 7 whose torch does not find a library."""
    broken = torch("2.9.1", cuda="13.0", live=live(import_error=f"ImportError: {soname}: {GONE}"))
    facts = environment(broken, facts=machine("13.0"), version="3.12.3")
    for path, value in {"l4t": "38.2", **fields}.items():
        facts = change(facts, f"host.{path}", value)
    return facts


@pytest.mark.parametrize(
    ("soname", "typed"),
    [
        (NVPL, "apt-get install libnvpl-lapack0 libnvpl-blas0"),
        ("libnvpl_blas_lp64_gomp.so.0", "apt-get install libnvpl-blas0"),
        ("libcudss.so.0", "apt-get install libcudss0-cuda-13"),
        ("libcusparseLt.so.0", "arm64/cuda-keyring_1.1-1_all.deb"),
        ("libcusparseLt.so.0", "apt-get install libcusparselt0"),
    ],
)
def test_libraries_of_the_cuda_repository(soname: str, typed: str) -> None:
    text = commands(import_fails, lacking(soname))
    assert typed in text
    assert "ubuntu2404/sbsa/cuda-keyring_1.1-1_all.deb" in text or not soname.startswith("libnvpl")


def test_the_repository_is_there_already() -> None:
    there = PackageSource(kind="nvidia", path="/etc/apt/sources.list.d/cuda-ubuntu2404-sbsa.list")
    text = commands(import_fails, lacking(NVPL, sources=(there,)))
    assert ("keyring" in text, "apt-get install libnvpl-lapack0" in text) == (False, True)


def test_another_library_brings_no_repository() -> None:
    assert "keyring" not in commands(import_fails, lacking("libcublas.so.13"))
    assert "keyring" not in commands(import_fails, lacking("libcusparseLt.so.0", l4t=None))  # there it has a wheel


def test_on_a_jetson_nothing_comes_from_pypi() -> None:
    """By its release file: in a container, and wherever the board is not to be seen."""
    for line in commands(import_fails, lacking("libfoo.so.1")).splitlines():
        assert " torch" not in line or "pip" not in line or "pypi.jetson-ai-lab.io" in line, line


def test_a_package_next_to_pytorch_gets_them_too() -> None:
    from gpudoctor.facts import PackageImport

    facts = environment(torch("2.9.1", cuda="13.0"), facts=machine("13.0"))
    error = f"ImportError: libcudss.so.0: {GONE}"
    one = PackageImport(package="nvmath-python", version="0.6.0", module="nvmath", error=error)
    text = commands(library_missing, change(facts, "pythons.0.imports", (one,)))
    assert "apt-get install libcudss0-cuda-13" in text
