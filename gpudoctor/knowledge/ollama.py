"""Which GPUs Ollama's libraries are for, what they need of the CPU, and how NixOS chooses them."""

from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class OllamaRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What changes with releases.

    Attributes:
        without_avx: the first release that uses GPUs without AVX.
        separate_libraries: the first release whose program holds no libraries itself.
        vulkan: the first release that brings the library for Vulkan.
        nixos_packages: the first NixOS where services.ollama.package, not acceleration, chooses the library.
        gfx: the gfx targets of its library for ROCm.
        dropped: targets that it had before, and the last release with them.
    """

    without_avx: str
    separate_libraries: str
    vulkan: str
    nixos_packages: str
    gfx: tuple[str, ...]
    dropped: dict[str, str]


class OllamaTable(KnowledgeTable, frozen=True):
    """The table ``ollama.toml``."""

    ollama: OllamaRules


@cache
def ollama() -> OllamaRules:
    """Return the rules, read once."""
    return load("ollama", OllamaTable).ollama
