"""Which GPUs Ollama's libraries are for, and what they need of the CPU."""

from functools import cache

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class OllamaRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first release that uses GPUs without AVX, and the gfx targets of its library for ROCm."""

    without_avx: str
    gfx: tuple[str, ...]


class OllamaTable(KnowledgeTable, frozen=True):
    """The table ``ollama.toml``."""

    ollama: OllamaRules


@cache
def ollama() -> OllamaRules:
    """Return the rules, read once."""
    return load("ollama", OllamaTable).ollama
