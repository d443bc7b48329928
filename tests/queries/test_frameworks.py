"""Questions about environments and frameworks."""

import msgspec
import pytest

from gpudoctor.facts import DriverLibrary
from gpudoctor.queries.driver import driver_runs
from gpudoctor.queries.frameworks import first_line
from gpudoctor.queries.gpus import amd_gpus, is_data_center, nvidia_gpus, torch_gfx, visible_gpus
from gpudoctor.queries.libraries import cuda_majors, other_majors
from gpudoctor.queries.packages import stem
from tests.builders import change, gpu, host, nvidia_host, plain_host, python
from tests.checks.environments import bare_python, need, package


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nvidia-cudnn-cu12", "nvidia-cudnn"),
        ("nvidia-cublas", "nvidia-cublas"),
        ("nvidia-cuda-nvcc-cu11", "nvidia-cuda-nvcc"),
        ("nvidia-cuda-runtime", "nvidia-cuda-runtime"),
    ],
)
def test_stem(name: str, expected: str) -> None:
    assert stem(name) == expected


@pytest.mark.parametrize(
    ("cuda", "driver", "expected"),
    [
        ("12.9", "12.2", True),
        ("13.0", "12.9", False),
        ("11.8", "13.0", True),
        ("12", "12.0", True),
        ("10.2", "10.1", False),
    ],
)
def test_driver_runs(cuda: str, driver: str, expected: bool) -> None:
    assert driver_runs(cuda, driver) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NVIDIA A100 80GB PCIe", True),
        ("NVIDIA H100 80GB HBM3", True),
        ("Tesla V100-PCIE-32GB", True),
        ("NVIDIA L40S", True),
        ("NVIDIA GH200 480GB", True),
        ("NVIDIA GeForce RTX 4090", False),
        ("NVIDIA RTX A6000", False),
        ("Quadro P4000", False),
        ("NVIDIA TITAN V", False),
    ],
)
def test_is_data_center(name: str, expected: bool) -> None:
    assert is_data_center(gpu(0, name=name)) is expected


def test_other_majors_and_where_they_are() -> None:
    lib = DriverLibrary(
        soname="libcudart.so.12", path="/usr/local/cuda/lib64/libcudart.so.12", real="/x", kind="toolkit"
    )
    facts = change(nvidia_host(), "toolkits.libraries", (lib,))
    wheel = package("nvidia-cublas-cu11", "11.8", libraries=("libcublas.so.11",))
    environment = bare_python(packages=(wheel,))
    missing = (need("libcudart.so.11.0"), need("libcublas.so.12"), need("libcufft.so.11"))
    assert other_majors(facts, environment, missing) == {
        "libcudart.so.11.0": "libcudart.so.12",
        "libcublas.so.12": "libcublas.so.11",
    }
    assert cuda_majors(facts, environment) == {12: "/usr/local/cuda/lib64", 11: "nvidia-cublas-cu11"}
    assert cuda_majors(plain_host(), python()) == {}


def test_a_containers_bus_proves_no_gpu() -> None:
    bus = msgspec.structs.replace(plain_host(), pci=nvidia_host().pci)
    assert len(nvidia_gpus(bus)) == 1
    boxed = msgspec.structs.replace(bus, host=host(container="docker"))
    assert nvidia_gpus(boxed) == ()
    asked = change(boxed, "host.environment", {"NVIDIA_VISIBLE_DEVICES": "all"})
    assert len(nvidia_gpus(asked)) == 1


def test_visible_gpus_are_those_that_cuda_shows() -> None:
    facts = change(nvidia_host(2), "nvidia.cuda.devices.0.uuid", "GPU-00000001-4a1b-2c3d-4e5f-abcdef000000")
    facts = change(facts, "nvidia.cuda.devices", facts.nvidia.cuda.devices[:1])  # type: ignore[index]
    assert [g.index for g in visible_gpus(facts)] == [1]


def test_torch_gfx_borrows_a_siblings_code() -> None:
    assert (torch_gfx("gfx1100"), torch_gfx("gfx1031"), torch_gfx("gfx803")) == ("gfx1100", "gfx1030", None)
    assert amd_gpus(plain_host()) == ()


def test_first_line_is_the_one_that_tells() -> None:
    assert first_line("Jax plugin configuration\nRuntimeError: too old\nmore") == "RuntimeError: too old"
    assert first_line("No CUDA GPUs are available") == "No CUDA GPUs are available"
