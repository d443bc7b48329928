"""Machines that are well, each odd in its own way."""

from copy import copy
from functools import partial
from typing import Any

from tests.checks.healthy_software import OTHERS
from tests.checks.test_healthy import NVIDIA
from tests.machines.registry import add

# Under names that can be files.
KEPT: dict[str, Any] = {
    "idle-laptop": NVIDIA["a laptop, its GPU asleep"],
    "card-of-eight-lanes": NVIDIA["a card of eight lanes"],
    "external-gpu": NVIDIA["an eGPU, whose Thunderbolt port calls itself x4 of the first generation"],
    "hgx-h100": NVIDIA["HGX H100"],
    "hgx-b200": NVIDIA["HGX B200"],
    "one-gpu-of-two-in-mig-mode": NVIDIA["one GPU of two in MIG mode"],
    "licensed-vgpu": NVIDIA["a licensed vGPU"],
    "wsl-2": NVIDIA["WSL 2"],
    "docker-with-one-gpu-of-four": NVIDIA["Docker with one GPU of four"],
    "kubernetes-pod": NVIDIA["a Kubernetes pod"],
    "slurm-job": NVIDIA["a Slurm job"],
    "grace-hopper": NVIDIA["Grace Hopper"],
    "dgx-spark": NVIDIA["DGX Spark"],
    "jetson-orin": NVIDIA["Jetson Orin"],
    "card-for-a-virtual-machine": NVIDIA["a card for a virtual machine"],
    "t4-at-its-power-limit": NVIDIA["a T4 at its power limit, near its base clock"],
    "memory-full-with-a-job": NVIDIA["its memory full with a job that computes"],
    "programs-with-bugs": NVIDIA["programs with bugs"],
    "apu-with-pytorch-for-the-cpu": OTHERS["an APU with PyTorch for the CPU"],
    "rocm-workstation-with-an-igpu": OTHERS["ROCm beside an integrated GPU"],
    "mi300x-in-cpx-mode": OTHERS["MI300X in the mode CPX"],
    "cpu-only-server": OTHERS["a CPU-only server with PyPI's PyTorch"],
    "nvidia-beside-an-amd-igpu": OTHERS["NVIDIA beside an integrated AMD GPU"],
    "nightly-build": OTHERS["a nightly build"],
    "older-toolkit-beside-complete-wheels": OTHERS["an older toolkit and cuDNN beside complete wheels"],
    "secure-boot-with-a-signed-module": OTHERS["Secure Boot with a signed module"],
}

for _name, _facts in KEPT.items():
    add(_name, partial(copy, _facts))
