"""Machines for plans: one GPU of each generation, on drivers of several branches."""

from typing import Any

import msgspec

from gpudoctor.facts import Distribution, Facts
from gpudoctor.knowledge.drivers import cuda_of_branch
from tests.builders import card, change, gpu, nvidia, nvidia_host, python

# Name, compute capability, generation, chip, and the beginning of the PCI name.
GPUS = {
    "pascal": ("NVIDIA GeForce GTX 1080 Ti", "6.1", "Pascal", "GP102"),
    "volta": ("Tesla V100-SXM2-16GB", "7.0", "Volta", "GV100"),
    "turing": ("Tesla T4", "7.5", "Turing", "TU104"),
    "ampere": ("NVIDIA A100-SXM4-80GB", "8.0", "Ampere", "GA100"),
    "ada": ("NVIDIA GeForce RTX 4090", "8.9", "Ada", "AD102"),
    "hopper": ("NVIDIA H100 80GB HBM3", "9.0", "Hopper", "GH100"),
    "blackwell": ("NVIDIA GeForce RTX 5090", "12.0", "Blackwell", "GB202"),
    "kepler": ("Tesla K80", "3.7", "Kepler", "GK210"),
}


def machine(*kinds: str, branch: int | None = 580, minor: str = "3.12", **changes: Any) -> Facts:
    """A machine with GPUs of these kinds, and a driver of a branch; None: no driver is installed."""
    cards, gpus = [], []
    for index, kind in enumerate(kinds):
        name, capability, generation, chip = GPUS[kind]
        what = {"capability": capability, "generation": generation, "chip": chip}
        driven = "nvidia" if branch else None
        cards.append(card(index, name=f"{chip} [{name}]", driver=driven, **what))
        gpus.append(gpu(index, name=name, **what))
    facts = nvidia_host(len(kinds), pci=tuple(cards), pythons=(python(version=f"{minor}.4"),), **changes)
    if branch is None:
        return without_driver(facts)
    facts = msgspec.structs.replace(facts, gpus=tuple(gpus), nvidia=nvidia(len(kinds), loaded=f"{branch}.65.06"))
    cuda = cuda_of_branch(branch)
    return change(change(facts, "nvidia.cuda.version", cuda), "nvidia.nvml.cuda_version", cuda)


def without_driver(facts: Facts) -> Facts:
    """The machine before a driver was installed."""
    nothing = {"loaded": None, "modules": (), "nodes": (), "gpus": (), "flavor": None}
    for name, value in nothing.items():
        facts = change(facts, f"nvidia.kernel.{name}", value)
    for name in ("cuda", "nvml"):
        facts = change(change(facts, f"nvidia.{name}.libraries", ()), f"nvidia.{name}.code", None)
    facts = change(change(facts, "nvidia.cuda.version", None), "nvidia.nvml.cuda_version", None)
    facts = change(change(facts, "nvidia.nvml.driver_version", None), "nvidia.cuda.devices", ())
    return change(facts, "gpus", ())


def distribution(facts: Facts, id_: str, version: str | None, *like: str) -> Facts:
    """The machine with another distribution."""
    return change(facts, "host.distribution", Distribution(id=id_, like=like, version=version, name=f"{id_} {version}"))
