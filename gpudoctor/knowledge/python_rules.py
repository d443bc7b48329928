"""Rules between Python packages that their own metadata does not say."""

from functools import cache

import msgspec

from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.table import Table, load


class Jax(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Packages that are installed to compute with JAX."""

    users: frozenset[str]


class Compiling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Packages that compile CUDA code with nvcc when they run, and those that bring such code ready-made."""

    always: frozenset[str]
    sometimes: frozenset[str]
    ready: dict[str, str]


class Triton(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first release that needs no libcuda.so."""

    libcuda_link_before: str


class Torchaudio(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The releases that want PyTorch's CUDA minor: from the first, before the second."""

    same_minor: tuple[str, str]


class PythonRules(Table, frozen=True):
    """The table ``python_rules.toml``."""

    numpy2: dict[str, str]
    ctranslate2_cudnn: dict[str, str]
    nvcc: Compiling
    triton: Triton
    torchaudio: Torchaudio
    jax: Jax


@cache
def python_rules() -> PythonRules:
    """Return the table, read once."""
    return load("python_rules", PythonRules)


def first_for_numpy2(name: str) -> str | None:
    """Return the first release of a package that was built for NumPy 2, or None where the table has none."""
    return python_rules().numpy2.get(name)


def ctranslate2_cudnn(number: str) -> int:
    """Return the cuDNN major that a release of CTranslate2 opens."""
    rows = python_rules().ctranslate2_cudnn
    first = max((v for v in rows if version(v) <= version(number)), key=version, default="1.0")
    return int(rows[first])


def computes_with_jax(name: str) -> bool:
    """Whether a package is installed to compute with JAX."""
    return name in python_rules().jax.users


def links_libcuda(triton: str) -> bool:
    """Whether a release of Triton links with -lcuda, and so needs libcuda.so beside libcuda.so.1."""
    return version(triton) < version(python_rules().triton.libcuda_link_before)


def wants_cuda_minor(torchaudio: str) -> bool:
    """Whether a release of torchaudio refuses to be imported beside a PyTorch of another CUDA minor."""
    first, last = python_rules().torchaudio.same_minor
    return version(first) <= version(torchaudio) < version(last)


def torchvision_for(torch: str) -> str | None:
    """Return the torchvision that belongs to a torch: 2.5.1 has 0.20.1; None before 2.1, where patches differ."""
    numbers = version(torch)
    if numbers[:2] < (2, 1) or numbers[0] != 2 or len(numbers) < 3:
        return None
    return f"0.{numbers[1] + 15}.{numbers[2]}"
