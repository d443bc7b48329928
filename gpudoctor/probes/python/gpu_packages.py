"""Which installed packages run compiled code on a GPU, next to the frameworks: by name, or by what they bring."""

import re
from collections.abc import Iterator, Sequence

from gpudoctor.knowledge.wanted import computes, is_extension, matters, module_of, wanted
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.parsers.metadata import is_optional, normalise, required_name
from gpudoctor.probes.python.packages import DirectoryNames, FoundDistribution, completed, text_of
from gpudoctor.queries.packages import names_torch
from gpudoctor.registry import BY_MODULE

# A package that is compiled against a framework requires it; "torch" alone, not torchmetrics.
_REQUIRES = pattern(r"(?mi)^Requires-Dist:\s*(?:torch|jax|jaxlib|cupy[\w-]*|tensorflow)\s*(?![\w.-])(?![^\n]*extra)")
# What names itself after PyTorch or GPUs, or has them among its keywords or classifiers, and requires no framework: the
# user is to choose the build (fbgemm-gpu requires NumPy alone).
_NAMED = pattern(r"(?:^|-)(?:torch|pytorch|gpu|cuda\d*|cu\d{2,3}|rocm\d*)(?:-|$)")
_DESCRIBED = pattern(r"(?mi)^(?:Keywords:.*\b(?:pytorch|torch|cuda|rocm)\b|Classifier: Environment :: GPU\b)")
# Libraries, and the sources that torch.utils.cpp_extension compiles when they are first needed.
_COMPILED = pattern(r"(?m)^[^,\n]+\.(?:so|cu|cuh|cpp)(?:\.[\d.]+)?,")
# What computes on GPUs, or gives access to them, as others require it; those first that dropped modules lately.
_GPU = (
    *("cuda-python", "cuda-bindings", "cuda-core", "numba-cuda", r"cupy[\w-]*", "pycuda", "onnxruntime-gpu", "triton"),
    *("jax", "jaxlib", "tensorflow", "torch"),
)
_DECLARES = pattern(rf"(?mi)^Requires-Dist:\s*({'|'.join(_GPU)})\s*(?![\w.-])(?![^\n]*extra)")
# What frameworks load, and parts of them.
_LIBRARIES = (
    "nvidia-",
    "cuda-",
    "triton",
    "pytorch-triton",
    "jax-cuda",
    "jax-rocm",
    "rocm",
    "amd-",
    "intel-",
    "tensorrt",
)
# They have no import of their own that says more than the framework's.
_HELPERS = ("triton", "pytorch-triton")


def gpu_packages(
    machine: Machine, found: Sequence[FoundDistribution], names: DirectoryNames
) -> tuple[FoundDistribution, ...]:
    """The distributions with code for GPUs that are no framework and no part of one, with their files.

    Args:
        machine: where they are.
        found: the installed distributions.
        names: the listings of directories.
    """
    return tuple(_chosen(machine, found, names))


def _chosen(machine: Machine, found: Sequence[FoundDistribution], names: DirectoryNames) -> Iterator[FoundDistribution]:
    for one in found:
        name = one.package.name
        if computes(name):
            if not name.startswith(_HELPERS):
                yield one
        elif _is_unnamed_extension(machine, one):
            yield completed(machine, one, names)


def _is_unnamed_extension(machine: Machine, one: FoundDistribution) -> bool:
    """Whether a package that no table names computes on GPUs, by what it brings."""
    name = one.package.name
    return (not matters(name) or name.startswith("torch-")) and _is_compiled(machine, one)


def _is_compiled(machine: Machine, one: FoundDistribution) -> bool:
    """Whether a package that no table names is for a framework or GPUs, and brings compiled code, or sources of it."""
    if not one.place.endswith(".dist-info"):
        return False
    text = text_of(machine, f"{one.place}/METADATA").partition("\n\n")[0]  # a description follows
    named = _NAMED.search(one.package.name) or names_torch(one.package.version)
    if not (named or _REQUIRES.search(text) or _DESCRIBED.search(text)):
        return False
    return bool(_COMPILED.search(text_of(machine, f"{one.place}/RECORD")))


def declaring(
    machine: Machine, found: Sequence[FoundDistribution], names: DirectoryNames
) -> tuple[FoundDistribution, ...]:
    """The distributions that are none of `gpu_packages` and require a GPU package, those first that may be broken.

    Broken is likely what requires a package that dropped modules lately, before what requires only a framework.

    Args:
        machine: where they are.
        found: the installed distributions.
        names: the listings of directories.
    """
    ranked = []
    for one in found:
        name = one.package.name
        if not one.place.endswith(".dist-info") or _is_part(name) or _is_unnamed_extension(machine, one):
            continue
        required = _DECLARES.findall(text_of(machine, f"{one.place}/METADATA"))
        if required or name in wanted().users:
            places = (next(n for n, part in enumerate(_GPU) if re.fullmatch(part, r, re.I)) for r in required)
            ranked.append((min(places, default=len(_GPU)), name, completed(machine, one, names)))
    return tuple(one for _, _, one in sorted(ranked, key=lambda each: each[:2]))


def needing(machine: Machine, found: Sequence[FoundDistribution], wanted: Sequence[str]) -> tuple[str, ...]:
    """The packages that compute on GPUs, or require what does, and require one of these distributions."""
    names = []
    for one in found:
        text = text_of(machine, f"{one.place}/METADATA").partition("\n\n")[0]
        lines = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("Requires-Dist:")]
        required = {required_name(line) for line in lines if not is_optional(line)}
        if not required.isdisjoint(wanted) and (computes(one.package.name) or _DECLARES.search(text)):
            names.append(one.package.name)
    return tuple(names)


def _is_part(name: str) -> bool:
    """Whether a distribution is a framework, a library of one, or imported as one that computes on GPUs."""
    return computes(name) or module_of(name) is not None or name.startswith(_LIBRARIES)


def needs_torch(one: FoundDistribution) -> bool:
    """Whether a package expects PyTorch in the process: it is compiled against it, or requires it."""
    lines = (line for line in one.package.requires if not is_optional(line))
    built = is_extension(one.package.name) or names_torch(one.package.version)
    return built or any(required_name(line) == "torch" for line in lines)


def modules_of(one: FoundDistribution) -> tuple[str, ...]:
    """The top package of a distribution: that of its own name, else the first that is no test and no example."""
    tops = [claim.partition("/")[0] for claim in one.claims if claim.count("/") == 1 and claim.endswith("/__init__.py")]
    tops = [top for top in dict.fromkeys(tops) if top.isidentifier() and top not in BY_MODULE]
    known = module_of(one.package.name)
    own = [top for top in tops if normalise(top) == one.package.name or top == known]
    return tuple(own or [top for top in tops if top not in _NO_PACKAGES][:1])


def module_in_namespace(machine: Machine, one: FoundDistribution) -> tuple[str, ...]:
    """The package of a distribution within a namespace of its own name: pyannote.audio of pyannote-audio."""
    words, folder = one.package.name.split("-"), one.place.rpartition("/")[0]
    for first in range(1, len(words)):
        outer, inner = "_".join(words[:first]), "_".join(words[first:])
        if machine.exists(f"{folder}/{outer}/{inner}/__init__.py"):
            return (f"{outer}.{inner}",)
    return ()


_NO_PACKAGES = ("benchmark", "benchmarks", "docs", "examples", "scripts", "test", "tests", "tools")
