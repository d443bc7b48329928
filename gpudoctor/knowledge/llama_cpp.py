"""The backends of ggml in llama.cpp: what each needs, and where that comes from."""

from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.packages import Family
from gpudoctor.knowledge.table import KnowledgeTable, load


class Backend(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """ggml's code for one kind of GPU.

    Attributes:
        title: of what it computes with.
        vendor: whose GPUs it uses; "": any.
        image: how the tag of the project's image with it ends.
        option: of CMake, which builds it.
        links: libraries, without ".so", that only it needs.
        places: directories in which these are installed, with one "*" at most.
        target: of CMake, which names the targets of its code; "": it is compiled for none in particular.
    """

    title: str
    vendor: str
    image: str
    option: str
    links: tuple[str, ...]
    places: tuple[str, ...]
    target: str = ""


class LlamaCppRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is the same for all backends.

    Attributes:
        repositories: of the source, by the first word of a program's name.
        image: of the project, without its tag.
        tags: how the tag of the image with a program begins.
        cuda_libraries: the package with CUDA's runtime libraries.
        other_backends: those that compute on no GPU of this machine.
    """

    repositories: dict[str, str]
    image: str
    tags: dict[str, str]
    cuda_libraries: dict[Family, str]
    other_backends: frozenset[str]


class Vulkan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Vulkan's drivers.

    Attributes:
        serves: the vendor whose GPUs a driver's library serves; "": of none here.
        packages: vendor -> the package with its driver.
    """

    serves: dict[str, str]
    packages: dict[str, dict[Family, str]]


class LlamaCppTable(KnowledgeTable, frozen=True):
    """The table ``llama_cpp.toml``."""

    llama_cpp: LlamaCppRules
    backend: dict[str, Backend]
    rocm_package: dict[Literal["amd", "fedora"], dict[str, str]]
    vulkan: Vulkan


@cache
def table() -> LlamaCppTable:
    """Return the table, read once."""
    return load("llama_cpp", LlamaCppTable)


def for_gpus(kind: str) -> bool:
    """Whether the library of a backend (libggml-KIND.so) computes on a GPU of this machine."""
    return kind.partition("-")[0] not in table().llama_cpp.other_backends


def backend_of(soname: str) -> str | None:
    """Return the backend that needs a library; None where other programs and backends need it, too."""
    stem = soname.partition(".so")[0]
    return next((kind for kind, row in table().backend.items() if stem in row.links), None)


def rocm_package_of(soname: str, origin: Literal["amd", "fedora"]) -> str | None:
    """Return the package with a library of ROCm's; None where the table has none."""
    return table().rocm_package[origin].get(soname.partition(".so")[0])


def image_with(program: str, kind: str) -> str | None:
    """Return the project's image that has a program with a backend; None where there is none."""
    rules, row = table().llama_cpp, table().backend.get(kind)
    tag = rules.tags.get(program)
    return f"{rules.image}:{tag}-{row.image}" if tag and row else None


def cuda_libraries(family: Family, release: str) -> str:
    """Return the package with the runtime libraries of a CUDA release ("12.8")."""
    return table().llama_cpp.cuda_libraries[family].format(release=release.replace(".", "-"))


def repository_of(program: str) -> str:
    """Return the repository of a program's source: its last part is the project's name."""
    return table().llama_cpp.repositories[program.partition("-")[0]]


def served_by(driver: str) -> str | None:
    """Return whose GPUs a driver of Vulkan serves ("amd"), by its library; "": of none here; None: of any, perhaps."""
    return table().vulkan.serves.get(driver.partition(".")[0])
