"""Packages that are built without code for GPUs where the build sees no GPU, no CUDA Toolkit or no PyTorch."""

from collections.abc import Sequence
from functools import cache

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import KnowledgeTable, load


class CudaExtension(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A package and its releases, what fails without code for GPUs, and how it is built with it.

    Attributes:
        package: its name.
        effect: what fails, as a sentence about the package goes on.
        proof: code that shows that it computes on the GPU.
        env: the variables of the build.
        since: the first release that the row is about.
        before: the first one that it is no more about.
        compiled: whether a build for the CPU has compiled code, too; else it has none at all.
        source: what pip builds; empty: PyPI's source of the installed release.
        successor: the package that continues it; empty: none does.
    """

    package: str
    effect: str
    proof: str
    env: dict[str, str]
    since: str = "0"
    before: str = "999"
    compiled: bool = False
    source: str = ""
    successor: str = ""


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What pip builds of a package from a release on that PyPI does not have."""

    package: str
    since: str
    source: str


class StableExtension(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An extension of which PyTorch's indexes have builds, each of which serves all later releases of PyTorch.

    Attributes:
        torch: the first PyTorch that they serve.
        since: the first such release of the extension.
        builds: the builds of PyTorch with an index that has one.
        pypi: the build that PyPI has.
        instead: what programs take where it is not installed.
    """

    torch: str
    since: str
    builds: tuple[str, ...]
    pypi: str
    instead: str

    def build_for(self, variant: str) -> str | None:
        """Return the build for one of PyTorch: its own, or the newest for the same major release of CUDA."""
        if variant in self.builds or not variant.startswith("cu"):
            return variant if variant in self.builds else None
        return max((one for one in self.builds if one[:-1] == variant[:-1]), default=None)


class ModuleOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A package with compiled modules for generations of GPUs, which a build for other GPUs does not have.

    Attributes:
        package: its name.
        has: the module that each such build has.
        modules: for a compute capability the module that it needs.
        without: the release that needs no such build.
        source: where that is from.
    """

    package: str
    has: str
    modules: dict[str, str]
    without: str
    source: str


class CudaExtensions(KnowledgeTable, frozen=True):
    """The table ``cuda_extensions.toml``."""

    row: tuple[CudaExtension, ...]
    source_of: tuple[Source, ...]
    module_of: tuple[ModuleOf, ...]
    without_nvcc: dict[str, str]
    stable: dict[str, StableExtension]
    ended: dict[str, str]


@cache
def cuda_extensions() -> CudaExtensions:
    """Return the table, read once."""
    return load("cuda_extensions", CudaExtensions)


def on_torch_index(name: str) -> bool:
    """Whether PyTorch's own indexes have builds of an extension."""
    return name in cuda_extensions().stable


def stable_extension(name: str, torch: str) -> StableExtension | None:
    """Return the builds of an extension that serve this torch and every later one; None: it has none for it."""
    row = cuda_extensions().stable.get(name)
    return row if row and version(torch)[:2] >= version(row.torch) else None


def has_modules(package: str) -> bool:
    """Whether a package has compiled modules for generations of GPUs."""
    return any(row.package == package for row in cuda_extensions().module_of)


def module_missing(package: str, libraries: Sequence[str], capability: str) -> str | None:
    """The module for a GPU that a build of a package does not have; None: it has it, or needs none.

    Args:
        package: its name.
        libraries: the base names of its libraries.
        capability: the GPU's, "8.9".
    """
    names = {name.partition(".")[0] for name in libraries}
    for row in cuda_extensions().module_of:
        wanted = row.modules.get(capability)
        if row.package == package and row.has in names and wanted and wanted not in names:
            return wanted
    return None
