"""A package and PyTorch that are built for two CUDA majors."""

from typing import Any

import pytest

from gpudoctor.checks.packages.library_missing import library_missing
from gpudoctor.facts import Facts, PackageImport
from tests.builders import change
from tests.checks.environments import commands, environment, machine, package, torch


def serving(
    name: str, version: str, missing: str, *, cuda: str, release: str = "2.11.0", driver: str = "13.0", **more: Any
) -> Facts:
    """A serving stack whose compiled part needs a library of another CUDA major than PyTorch's."""
    error = f"ImportError: {missing}: cannot open shared object file: No such file or directory"
    one = PackageImport(package=name, version=version, module=name.replace("-", "_"), error=error)
    packages = (package(name, version, **more), package("torchvision", "0.26.0"))
    facts = environment(torch(release, cuda=cuda), packages=packages, facts=machine(driver))
    return change(facts, "pythons.0.imports", (one,))


def test_pytorch_is_installed_for_the_cuda_of_the_package() -> None:
    facts = serving("vllm", "0.21.0", "libcudart.so.13", cuda="12.9")
    message, build, rest = commands(library_missing, facts).splitlines()[:3]
    assert message.startswith("Install PyTorch's build for CUDA 13 in the same release, as vllm is built for it.")
    specs = "--index-url https://download.pytorch.org/whl/cu130 torch==2.11.0 torchvision==0.26.0"
    # That index has old releases of NumPy and Pillow, too.
    assert build.endswith(f"--force-reinstall --no-deps {specs}")
    assert rest.endswith(f"pip install {specs}")


def test_a_driver_that_does_not_run_it_gets_another_build_of_the_package() -> None:
    said = commands(library_missing, serving("vllm", "0.21.0", "libcudart.so.13", cuda="12.9", driver="12.8"))
    assert "torch==" not in said
    assert "Install a release of vllm that is built for CUDA 12" in said


def test_no_build_is_installed_that_has_no_code_for_the_gpu() -> None:
    volta = change(serving("vllm", "0.21.0", "libcudart.so.13", cuda="12.9"), "gpus.0.capability", "7.0")
    assert "/whl/cu130" not in commands(library_missing, volta)


def test_conda_chooses_its_builds_itself() -> None:
    facts = serving("vllm", "0.21.0", "libcudart.so.13", cuda="12.9", installer="conda")
    assert "torch==" not in commands(library_missing, facts)


@pytest.mark.parametrize(("name", "version"), [("sgl-kernel", "0.3.21"), ("sglang-kernel", "0.4.3")])
def test_a_package_with_builds_of_its_own(name: str, version: str) -> None:
    first = commands(library_missing, serving(name, version, "libnvrtc.so.12", cuda="13.0")).splitlines()[:2]
    assert first[0] == f"Install the build of {name} {version} for CUDA 13, from its own index."
    assert f"--index-url https://docs.sglang.io/whl/cu130/ --no-deps {name}=={version}" in first[1]


def test_an_old_release_has_no_such_build() -> None:
    said = commands(library_missing, serving("sgl-kernel", "0.1.0", "libnvrtc.so.12", cuda="13.0"))
    assert "docs.sglang.io" not in said
