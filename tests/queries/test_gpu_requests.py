"""Whether a machine is without a GPU, and each thing that asks for one."""

import pytest

from gpudoctor.facts import Cloud, Cluster, CondaPackage, DeviceNode, Facts, Host, Package
from gpudoctor.maybe import Unknown, UnknownFactError
from gpudoctor.queries.gpu_requests import requests, without_gpu
from tests.builders import card, change, host, library, nvidia_host, plain_host, python
from tests.checks.amd_machines import amd_host
from tests.checks.intel_machines import UHD

EXTRA = tuple(f'nvidia-{name}-cu12<13; extra == "and-cuda"' for name in ("cublas", "cuda-nvcc"))
TORCH_NEEDS = ('nvidia-cublas-cu12==12.8.4.1; platform_system == "Linux"',)
CUBLAS, NVCC = ("nvidia-cublas-cu12", "12.8.4.1"), ("nvidia-cuda-nvcc-cu12", "12.9.86")


def packages(*given: tuple[str, ...]) -> Facts:
    """A machine without a GPU with these distributions: name, version, requirements."""
    found = tuple(Package(name=one[0], version=one[1], directory="/s", requires=one[2:]) for one in given)
    return plain_host(pythons=(python(packages=found),))


def conda(name: str, build: str) -> Facts:
    """One with a package of conda's."""
    return plain_host(pythons=(python(packages=(), conda=(CondaPackage(name=name, version="2.6.0", build=build),)),))


def env(**variables: str) -> Facts:
    """One with these variables."""
    return plain_host(host=host(environment=variables))


def asked(facts: Facts) -> list[str]:
    """What asks."""
    return [one.what for one in requests(facts)]


@pytest.mark.parametrize(
    ("facts", "what"),
    [
        (packages(), []),
        (packages(("torch", "2.9.1")), []),  # PyPI's, which brings CUDA to every Linux
        (packages(("torch", "2.9.1+cpu")), []),
        (packages(("torch", "2.9.1+cu128")), ["torch 2.9.1+cu128"]),
        (packages(("torch", "2.9.1+rocm6.4")), ["torch 2.9.1+rocm6.4"]),
        (packages(("torch", "2.9.1+xpu")), ["torch 2.9.1+xpu"]),
        (packages(("torch", "2.10.0a0+git1234abc")), []),  # built here
        (packages(("jaxlib", "0.4.13+cuda12.cudnn89")), ["jaxlib 0.4.13+cuda12.cudnn89"]),
        (packages(("jax", "0.7.2"), ("jaxlib", "0.7.2")), []),
        (packages(("jax-cuda12-plugin", "0.7.2")), ["jax-cuda12-plugin 0.7.2"]),
        (packages(("jax-rocm60-plugin", "0.6.0")), ["jax-rocm60-plugin 0.6.0"]),
        (packages(("cupy-cuda12x", "13.6.0")), ["cupy-cuda12x 13.6.0"]),
        (packages(("onnxruntime", "1.23.0")), []),
        (packages(("onnxruntime-gpu", "1.23.0")), ["onnxruntime-gpu 1.23.0"]),
        (packages(("tensorflow-gpu", "2.10.1")), ["tensorflow-gpu 2.10.1"]),
        (packages(("tensorflow", "2.20.0", *EXTRA)), []),
        (packages(("tensorflow", "2.20.0", *EXTRA), CUBLAS, NVCC), ["tensorflow[and-cuda] 2.20.0"]),
        (packages(("ctranslate2", "4.5.0", "numpy"), CUBLAS), ["ctranslate2 4.5.0"]),
        (packages(("ctranslate2", "4.5.0", "numpy")), []),
        (packages(("ctranslate2", "4.5.0"), ("torch", "2.9.1", *TORCH_NEEDS), CUBLAS), []),
        (packages(("numpy", "2.2.2"), CUBLAS), []),  # what pip uninstall torch leaves
        (packages(("tensorflow", "2.20.0", *EXTRA), CUBLAS), []),  # half of the extra is none
        (packages(("tensorflow", "2.20.0", EXTRA[0]), ("torch", "2.9.1", *TORCH_NEEDS), CUBLAS), []),  # torch's own
        (conda("pytorch", "cuda126_generic_py311_h9a41b6e_200"), ["pytorch 2.6.0"]),
        (conda("pytorch", "py3.11_cuda12.1_cudnn8.9.2_0"), ["pytorch 2.6.0"]),
        (conda("pytorch", "cpu_generic_py311_h1"), []),
        (conda("pytorch-cuda", "ha16c6d3_6"), ["pytorch-cuda 2.6.0"]),
        (conda("tensorflow-base", "gpu_py39h1"), ["tensorflow-base 2.6.0"]),
        (conda("cuda-version", "h7480c83_3"), []),
    ],
)
def test_builds_that_were_chosen_for_gpus(facts: Facts, what: list[str]) -> None:
    assert asked(facts) == what


@pytest.mark.parametrize(
    ("facts", "what"),
    [
        (env(), []),
        (env(NVIDIA_VISIBLE_DEVICES="all"), ["NVIDIA_VISIBLE_DEVICES=all"]),
        (env(NVIDIA_VISIBLE_DEVICES="GPU-1234"), ["NVIDIA_VISIBLE_DEVICES=GPU-1234"]),
        (env(NVIDIA_VISIBLE_DEVICES="void"), []),
        (env(NVIDIA_VISIBLE_DEVICES="none"), []),
        (env(NVIDIA_VISIBLE_DEVICES=""), []),
        (env(AMD_VISIBLE_DEVICES="0"), ["AMD_VISIBLE_DEVICES=0"]),
        (env(AMD_VISIBLE_DEVICES="none"), []),
        (env(CUDA_VISIBLE_DEVICES="0"), []),  # chooses among GPUs, asks for none
    ],
)
def test_variables(facts: Facts, what: list[str]) -> None:
    assert asked(facts) == what


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"cluster": Cluster(scheduler="slurm", job="7", granted="SLURM_JOB_GPUS=0,1")}, ["SLURM_JOB_GPUS=0,1"]),
        ({"cluster": Cluster(scheduler="slurm", job="7", granted="SLURM_GPUS_ON_NODE=8")}, ["SLURM_GPUS_ON_NODE=8"]),
        ({"cluster": Cluster(scheduler="slurm", job="7", granted=None)}, []),
        ({"cluster": Cluster(scheduler="pbs", granted=Unknown("PBS does not tell"))}, []),
        ({"nvidia.cuda.libraries": (library("libcuda.so.1"),)}, ["NVIDIA's driver 570.169"]),
        ({"nvidia.cuda.libraries": (library("libcuda.so.1", kind="stub"),)}, []),
        ({"nvidia.cuda.libraries": (library("libcuda.so.1", kind="compat"),)}, []),
        ({"nvidia.kernel.loaded": "580.65.06"}, ["NVIDIA's driver 580.65.06"]),
        ({"nvidia.kernel.loaded": "580.65.06", "host.container": "docker"}, []),  # the host's
        ({"amd.rocm": "6.4.1"}, ["ROCm 6.4.1"]),
    ],
)
def test_schedulers_and_drivers(changes: dict[str, object], what: list[str]) -> None:
    facts = plain_host()
    for path, value in changes.items():
        facts = change(facts, path, value)
    assert asked(facts) == what


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("cluster", Cluster(client="/usr/bin/sbatch", client_of="slurm")),
        ("cluster", Cluster(scheduler="slurm", job="7", granted=None)),
        ("cloud", Cloud(notebook="colab")),
    ],
)
def test_an_environment_that_other_machines_share_asks_for_none_here(path: str, value: object) -> None:
    assert asked(change(packages(("torch", "2.9.1+cu128")), path, value)) == []


def test_a_notebooks_image_asks_for_none_by_its_variable() -> None:
    assert asked(change(env(NVIDIA_VISIBLE_DEVICES="all"), "cloud", Cloud(notebook="colab"))) == []


NODES = (DeviceNode(path="/dev/nvidia0", error=None), DeviceNode(path="/dev/nvidiactl", error=None))
BARE = change(change(nvidia_host(), "gpus", ()), "nvidia", plain_host().nvidia)  # a card that nothing drives


@pytest.mark.parametrize(
    ("facts", "without"),
    [
        (plain_host(), True),
        (nvidia_host(), False),
        (BARE, False),
        (change(BARE, "host.container", "docker"), True),  # the host's bus shows a GPU that was not passed in
        (change(change(BARE, "host.container", "docker"), "nvidia.kernel.nodes", NODES), False),
        (amd_host(), False),
        (plain_host(pci=(UHD,)), False),
        (change(plain_host(pci=(UHD, card())), "host.container", "docker"), False),
        (change(plain_host(), "host.wsl", 2), False),
        (change(plain_host(), "host.platform", "jetson"), False),
        (change(plain_host(), "nvidia.cuda.code", 0), False),
        (Facts(host=Host(system="Darwin"), pci=()), False),
    ],
)
def test_without_gpu(facts: Facts, without: bool) -> None:
    assert without_gpu(facts) is without


@pytest.mark.parametrize(
    ("version", "vendor"), [("2.9.1+cu128", "nvidia"), ("2.9.1+rocm6.4", "amd"), ("2.9.1+xpu", None)]
)
def test_whose_gpu_a_build_asks_for(version: str, vendor: str | None) -> None:
    assert [one.vendor for one in requests(packages(("torch", version)))] == [vendor]


@pytest.mark.parametrize(("path", "container"), [("pci", None), ("nvidia.kernel.nodes", "docker")])
def test_what_nobody_could_look_at_is_unknown(path: str, container: str | None) -> None:
    facts = change(change(plain_host(), "host.container", container), path, Unknown("not readable"))
    with pytest.raises(UnknownFactError):
        without_gpu(facts)
