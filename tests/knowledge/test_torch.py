"""Which PyTorch wheel fits a GPU, a driver and a Python."""

import pytest

from gpudoctor.knowledge import torch
from gpudoctor.knowledge.torch import TorchChoice


@pytest.mark.parametrize(
    ("capability", "driver_cuda", "python", "version", "variant"),
    [
        ("8.6", "13.0", "3.12", "2.14", "cu130"),
        ("7.5", "13.3", None, "2.14", "cu130"),
        ("8.6", "12.4", "3.12", "2.14", "cu126"),
        ("8.9", None, "3.12", "2.14", "cu130"),
        ("12.0", "12.8", "3.12", "2.11", "cu128"),
        ("12.0", "13.0", "3.12", "2.14", "cu130"),
        ("12.1", "13.0", "3.12.3", "2.14", "cu130"),
        ("6.1", "13.0", "3.11", "2.14", "cu126"),
        ("5.2", "12.2", "3.12", "2.14", "cu126"),
        ("7.0", "13.0", "3.12", "2.14", "cu126"),
        ("3.7", "11.4", "3.9", "2.7", "cu118"),
        ("9.0", "11.8", "3.11", "2.7", "cu118"),
        ("8.0", "12.2", "3.8", "2.4", "cu118"),
    ],
)
def test_wheel_for(capability: str, driver_cuda: str | None, python: str | None, version: str, variant: str) -> None:
    assert torch.wheel_for(capability, driver_cuda, python) == TorchChoice(version, variant)


@pytest.mark.parametrize(
    ("capability", "driver_cuda", "python"),
    [
        ("3.5", "11.4", None),
        ("2.0", "9.1", None),
        ("8.9", "11.4", "3.14"),
        ("8.0", "13.0", "3.99"),
        ("8.0", "10.2", "3.8"),
    ],
)
def test_no_wheel_fits(capability: str, driver_cuda: str, python: str | None) -> None:
    assert torch.wheel_for(capability, driver_cuda, python) is None


def test_every_choice_exists() -> None:
    for generation in ("5.0", "6.1", "7.0", "7.5", "8.0", "8.9", "9.0", "10.0", "12.0"):
        for driver_cuda in ("11.8", "12.4", "13.0", None):
            choice = torch.wheel_for(generation, driver_cuda)
            if choice:
                found = torch.release(choice.version)
                assert found
                assert choice.variant in found.wheels
                assert choice.variant not in found.assumed


def test_arm_has_its_own_wheels() -> None:
    assert torch.wheel_for("9.0", "13.0", None, "aarch64") == TorchChoice("2.14", "cu130")
    assert torch.wheel_for("8.6", "12.4", None, "aarch64") == TorchChoice("2.14", "cu126")
    assert torch.wheel_for("6.1", "13.0", None, "aarch64") is None


@pytest.mark.parametrize(
    ("variant", "driver_cuda", "runs"),
    [
        ("cu128", "12.2", True),
        ("cu126", "13.0", True),
        ("cu130", "12.9", False),
        ("cu118", "11.0", True),
        ("cu102", "10.1", False),
        ("cpu", "12.0", False),
        ("rocm7.2", "12.0", False),
    ],
)
def test_driver_runs(variant: str, driver_cuda: str, runs: bool) -> None:
    assert torch.driver_runs(variant, driver_cuda) is runs


def test_names() -> None:
    assert torch.index_of("cu126") == "https://download.pytorch.org/whl/cu126"
    assert TorchChoice("2.14", "rocm7.2").index == "https://download.pytorch.org/whl/rocm7.2"
    assert torch.cuda_of_variant("cu118") == "11.8"
    assert torch.cuda_of_variant("rocm7.2") is None


def test_the_index_of_a_build() -> None:
    nightly = "https://download.pytorch.org/whl/nightly/rocm7.2"
    assert torch.index_of_build("2.12.0.dev20260324+rocm7.2") == nightly
    assert torch.index_of_build("2.7.1+cu126") == "https://download.pytorch.org/whl/cu126"
    assert torch.index_of_build("2.9.0+rocm7.10.0a20251117") is torch.index_of_build("2.7.1") is None


def test_release_takes_any_version_of_it() -> None:
    for text in ("2.9", "2.9.1", "2.9.1+cu128"):
        found = torch.release(text)
        assert found
        assert (found.version, found.default) == ("2.9", "cu128")
    assert torch.release("0.4") is None
    assert torch.targets_of("2.9.1", "cu129") is None
    assert torch.targets_of("2.9.1", "cu126") == "5.0 6.0 7.0 7.5 8.0 8.6 9.0"


@pytest.mark.parametrize(
    ("gfx", "rocm"),
    [
        ("gfx1100", "7.2"),
        ("gfx1151", "7.2"),
        ("gfx1103", "7.2"),
        ("gfx906", "6.3"),  # whose rocBLAS is the last with kernels for it
        ("gfx1031", None),
        ("gfx803", None),
    ],
)
def test_rocm_for(gfx: str, rocm: str | None) -> None:
    assert torch.rocm_for(gfx) == rocm


def test_rocm_wheel_for() -> None:
    assert torch.rocm_wheel_for("gfx1100") == TorchChoice("2.14", "rocm7.2")
    assert torch.rocm_wheel_for("gfx1100", "3.9") == TorchChoice("2.8", "rocm6.4")
    assert torch.rocm_wheel_for("gfx1031") is None


@pytest.mark.parametrize(("major", "wanted"), [(8, "torch>=1.13"), (9, "torch>=2.4"), (99, "torch")])
def test_the_releases_with_a_cudnn(major: int, wanted: str) -> None:
    assert torch.with_cudnn(major) == wanted


def test_a_variant_and_its_cuda_release() -> None:
    assert [torch.cuda_variant(release) for release in ("11.8", "13.0")] == ["cu118", "cu130"]
    assert torch.cuda_of_variant(torch.cuda_variant("12.6")) == "12.6"
