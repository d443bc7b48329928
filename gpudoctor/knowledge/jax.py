"""What each GPU plugin of JAX needs."""

from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load

Cuda = Literal["cuda12", "cuda13"]


class Plugin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plugin for NVIDIA GPUs: its package, CUDA major, oldest driver branch, and lowest versions."""

    package: str
    cuda: str
    driver: str
    since: str
    lowest_capability: str
    lowest_cuda: str
    lowest_nccl: str
    targets: str
    lowest_cudnn: dict[str, str]


class RocmPlugin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The plugin for AMD GPUs: its package, ROCm major and gfx targets."""

    package: str
    rocm: str
    since: str
    gfx: str


class JaxRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rules for all plugins."""

    ptxas_from_path_until: str
    skip_check_variable: str


class JaxTable(KnowledgeTable, frozen=True):
    """The table ``jax.toml``."""

    plugin: dict[Cuda, Plugin]
    rocm: RocmPlugin
    python: dict[str, str]
    rules: JaxRules


@cache
def jax() -> JaxTable:
    """Return the table, read once."""
    return load("jax", JaxTable)


def plugin(cuda: Cuda) -> Plugin:
    """Return what the plugin for a CUDA major needs."""
    return jax().plugin[cuda]


def lowest_cudnn(cuda: Cuda, number: str) -> str | None:
    """Return the oldest cuDNN that the plugin of this version of JAX loads, or None where unknown."""
    return _since(plugin(cuda).lowest_cudnn, number)


def lowest_python(number: str) -> str | None:
    """Return the oldest Python of this version of JAX, or None where unknown."""
    return _since(jax().python, number)


def plugin_for(capability: str, driver_cuda: str | None = None) -> Cuda | None:
    """Return the newest plugin with code for this GPU that the driver ("12.4") can run, or None."""
    newest_first: tuple[Cuda, ...] = ("cuda13", "cuda12")
    for name in newest_first:
        found = plugin(name)
        runs = driver_cuda is None or version(driver_cuda)[0] >= int(found.cuda)
        if runs and version(capability) >= version(found.lowest_capability):
            return name
    return None


def _since(rows: dict[str, str], number: str) -> str | None:
    known = [v for v in rows if version(v) <= version(number)]
    return rows[max(known, key=version)] if known else None


def prefers_path(number: str) -> bool:
    """Whether a release runs a ptxas that is on PATH before that of the wheel nvidia-cuda-nvcc."""
    return version(number) <= version(jax().rules.ptxas_from_path_until)
