"""Which GPUs a cloud's instance type has."""

import re
from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class InstanceFamily(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Instance types of one cloud with the same GPU."""

    cloud: str
    vendor: str
    gpu: str
    types: dict[str, int]
    grid: bool = False
    devices: tuple[str, ...] = ()


class Series(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Series of Amazon EC2 without a GPU, by their letters."""

    without: tuple[str, ...]


class Clouds(KnowledgeTable, frozen=True):
    """The table ``cloud.toml``."""

    series: Series
    family: list[InstanceFamily]


class Instance(msgspec.Struct, frozen=True):
    """What one instance type has.

    Attributes:
        vendor: "nvidia" or "amd".
        gpu: model, for people.
        number: how many devices its PCI bus shows.
        grid: whether the GPU is NVIDIA's virtual one and needs the GRID driver.
    """

    vendor: str
    gpu: str
    number: int
    grid: bool


@cache
def _table() -> Clouds:
    return load("cloud", Clouds)


def instance(cloud: str, name: str) -> Instance | None:
    """Return what is known of an instance type; None where it is not in the table."""
    for family in _table().family:
        if family.cloud == cloud and name in family.types:
            return Instance(family.vendor, family.gpu, family.types[name], family.grid)
    return None


def grid_device(cloud: str, device: str) -> Instance | None:
    """Return what is known of a PCI device that needs the GRID driver in every size of a cloud; None for others."""
    for family in _table().family:
        if family.cloud == cloud and family.grid and device in family.devices:
            return Instance(family.vendor, family.gpu, 1, grid=True)
    return None


def is_without_gpu(cloud: str, name: str) -> bool:
    """Return whether the name alone says that this instance type has no GPU; False where it does not tell."""
    if cloud == "aws":
        letters = re.match(r"u-|[a-z]+", name)
        return letters is not None and letters[0] in _table().series.without
    # Azure's N series are the ones with accelerators; constrained sizes have digits and hyphens behind the letter.
    return cloud == "azure" and re.match(r"(?:Standard|Basic)_(?!N)[A-Z]", name) is not None
