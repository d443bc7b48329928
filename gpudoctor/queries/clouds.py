"""Queries about the cloud that a machine is rented from, answered from facts alone."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import MACHINE, About
from gpudoctor.facts import Facts
from gpudoctor.knowledge import cloud
from gpudoctor.knowledge.cloud import Instance
from gpudoctor.targets import cards_of, gpus_of, in_container

NAMES = {"aws": "AWS", "azure": "Azure", "gcp": "Google Cloud", "oracle": "Oracle Cloud"}
NOTEBOOKS = {"colab": "Google Colab", "kaggle": "Kaggle", "databricks": "Databricks"}


class Rented(msgspec.Struct, frozen=True):
    """A rented machine whose instance type is in the tables."""

    facts: Facts
    name: str
    has: Instance


def rented(facts: Facts) -> Rented | None:
    """The instance type and what it has; None where either is unknown. Containers may see less than the machine has."""
    provider, name = facts.cloud.provider, facts.cloud.instance
    if in_container(facts) or not isinstance(provider, str) or not isinstance(name, str):
        return None
    found = cloud.instance(provider, name)
    return Rented(facts, f"{NAMES.get(provider, provider)}'s {name}", found) if found else None


def gpu_instances(facts: Facts) -> Iterator[tuple[About, Rented]]:
    """The machine where its instance type is known to have GPUs."""
    found = rented(facts)
    if found:
        yield MACHINE, found


def virtual_gpus(facts: Facts) -> Iterator[tuple[About, Rented]]:
    """The machine whose GPU is a virtual one that only NVIDIA's GRID driver supports."""
    found = _on_grid(facts)
    if found:
        yield MACHINE, found


def _on_grid(facts: Facts) -> Rented | None:
    """By the instance type; where nobody wrote it down, by the GPU itself."""
    found = rented(facts)
    if found:
        return found if found.has.grid else None
    provider, cards = facts.cloud.provider, cards_of(facts, "nvidia")
    if in_container(facts) or not isinstance(provider, str) or not cards:
        return None
    has = [cloud.grid_device(provider, card.device) for card in cards]
    return (
        Rented(facts, f"This virtual machine of {NAMES.get(provider, provider)}", has[0])
        if all(has) and has[0]
        else None
    )


def cpu_instances(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The machine where the name of its instance type shows that it has no GPU."""
    provider, name = facts.cloud.provider, facts.cloud.instance
    if in_container(facts) or not isinstance(provider, str) or not isinstance(name, str):
        return
    if cloud.is_without_gpu(provider, name):
        yield MACHINE, facts


def notebooks(facts: Facts) -> Iterator[tuple[About, Facts]]:
    """The hosted notebook that is not a TPU's."""
    if isinstance(facts.cloud.notebook, str) and facts.cloud.tpu is not True:
        yield MACHINE, facts


def is_vgpu_guest(facts: Facts) -> bool:
    """Whether the GPU is a virtual one (NVIDIA vGPU): by NVML, its license, its license daemon, or the cloud."""
    kernel = facts.nvidia.kernel
    licensed = isinstance(kernel.license, str) or isinstance(kernel.gridd, str)
    return licensed or needs_grid(facts) or any(g.virtualization == "vgpu" for g in gpus_of(facts, "nvidia"))


def needs_grid(facts: Facts) -> bool:
    """Whether this machine's GPU is a virtual one that only NVIDIA's GRID driver supports."""
    return _on_grid(facts) is not None
