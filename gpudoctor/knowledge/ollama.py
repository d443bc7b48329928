"""Which GPUs Ollama's libraries are for, what they need of the CPU, and how NixOS chooses them."""

from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class OllamaDriver(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The oldest branch of NVIDIA's driver with which Ollama uses a GPU.

    Attributes:
        runtime: the CUDA 12 release of its libraries from which it holds.
        branch: the driver's branch.
        below: it holds for GPUs below this compute capability alone; empty: for all.
    """

    runtime: str
    branch: int
    below: str = ""


class OllamaRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What changes with releases.

    Attributes:
        without_avx: the first release that uses GPUs without AVX.
        separate_libraries: the first release whose program holds no libraries itself.
        vulkan: the first release that brings the library for Vulkan.
        nixos_packages: the first NixOS where services.ollama.package, not acceleration, chooses the library.
        needs_driver: the first release that leaves GPUs alone whose driver is too old.
        driver: how old the driver may be.
        vulkan_beside: the first release that also uses those GPUs through Vulkan that CUDA is not to use.
        only_named: the first release that skips every directory of libraries but the one that is named.
        gfx: the gfx targets of its library for ROCm.
        dropped: targets that it had before, and the last release with them.
    """

    without_avx: str
    separate_libraries: str
    vulkan: str
    nixos_packages: str
    needs_driver: str
    driver: tuple[OllamaDriver, ...]
    vulkan_beside: str
    only_named: str
    gfx: tuple[str, ...]
    dropped: dict[str, str]


class OllamaTable(KnowledgeTable, frozen=True):
    """The table ``ollama.toml``."""

    ollama: OllamaRules


@cache
def ollama() -> OllamaRules:
    """Return the rules, read once."""
    return load("ollama", OllamaTable).ollama
