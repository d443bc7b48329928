"""Which builds of a framework somebody gets only by choosing a GPU."""

import re
from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load
from gpudoctor.name_pattern import any_stands_for


class Extra(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An extra of a distribution that brings the GPU's libraries."""

    distribution: str
    extra: str


class ByHand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A distribution for CPUs and GPUs, and the wheels that are added to it for a GPU; a last * stands for any end."""

    distribution: str
    wheels: tuple[str, ...]


class GpuBuilds(KnowledgeTable, frozen=True):
    """The table gpu_builds.toml."""

    names: tuple[str, ...]
    labelled: frozenset[str]
    label: str
    conda: frozenset[str]
    conda_build: str
    conda_names: frozenset[str]
    extra: tuple[Extra, ...]
    by_hand: tuple[ByHand, ...]


@cache
def gpu_builds() -> GpuBuilds:
    """Return the table, read once."""
    return load("gpu_builds", GpuBuilds)


def named_for_gpus(name: str) -> bool:
    """Whether a distribution has no build for the CPU; `name` is normalized (PEP 503)."""
    return any_stands_for(gpu_builds().names, name)


def labelled_for_gpus(name: str, version: str) -> str | None:
    """The local version label (`cu128`) that only an index for GPUs gives; None: the version has none such."""
    table, label = gpu_builds(), version.partition("+")[2]
    is_cpu = label in ("", "cpu")  # the most frequent need no pattern
    return label if name in table.labelled and not is_cpu and re.match(table.label, label) else None


def conda_for_gpus(name: str, build: str) -> bool:
    """Whether conda's package is a build for GPUs, or a metapackage that selects one."""
    table = gpu_builds()
    return name in table.conda_names or (name in table.conda and bool(re.search(table.conda_build, build)))
