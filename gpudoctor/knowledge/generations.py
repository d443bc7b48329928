"""What an NVIDIA GPU's generation says about the drivers and toolkits that fit it."""

from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.table import KnowledgeTable, load


class GpuGeneration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One generation of NVIDIA GPUs; None means "no end yet" (`last_*`) or "NVML has no name" (`nvml`)."""

    name: str
    codes: tuple[str, ...]
    capabilities: dict[str, tuple[str, str]]
    first_driver: int | None = None
    last_driver: int | None = None
    open_module: Literal["no", "optional", "required"] = "optional"
    last_cuda: str | None = None
    nvml: int | None = None
    hbm: tuple[str, ...] = ()


class Generations(KnowledgeTable, frozen=True):
    """The table ``generations.toml``."""

    generation: tuple[GpuGeneration, ...]


@cache
def generations() -> tuple[GpuGeneration, ...]:
    """Return all generations, oldest first."""
    return load("generations", Generations).generation


def generation_of_capability(capability: str) -> GpuGeneration | None:
    """Return the generation of a compute capability such as "8.6", or None where it is unknown."""
    return next((g for g in generations() if capability in g.capabilities), None)


def has_hbm(capability: str | None) -> bool:
    """Whether the GPUs of a capability have HBM, so that ECC takes neither memory nor speed from them."""
    return any(capability in generation.hbm for generation in generations())


def generation_of_code(code: str) -> GpuGeneration | None:
    """Return the generation of a chip code name such as "GA102" or "AD104GLM", or None."""
    return next((g for g in generations() if code.upper().startswith(g.codes)), None)


def generation_named(name: str) -> GpuGeneration | None:
    """Return the generation of this name ("Ampere"), in any case of letters, or None."""
    return next((g for g in generations() if g.name.lower() == name.lower()), None)


def toolkits_of(capability: str) -> tuple[str, str | None] | None:
    """Return the first and last CUDA toolkit that compiles for this capability (None: still does)."""
    found = generation_of_capability(capability)
    if found is None:
        return None
    first, last = found.capabilities[capability]
    return first, last or None
