"""What each TensorFlow release is built with and runs on."""

from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.kernels import coverage, version
from gpudoctor.knowledge.table import KnowledgeTable, load


class TensorflowRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rules for all releases."""

    last_windows_gpu: str
    ptx_fails_from: str


class TensorflowRelease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A minor release: CUDA and cuDNN it was tested with, Python range, compiled capabilities, the extra and-cuda."""

    version: str
    cuda: str
    cudnn: str
    python: tuple[str, str]
    targets: str
    and_cuda: bool
    and_cuda_python: tuple[str, str] | None = None
    lost: str | None = None

    @property
    def pythons(self) -> tuple[str, str]:
        """The oldest and the newest Python for which it can be installed with its CUDA libraries."""
        return self.and_cuda_python or self.python

    @property
    def finds_gpu(self) -> bool:
        """Whether its extra and-cuda exists, and the release finds the libraries that it brings."""
        return self.and_cuda and self.lost is None

    def installs_on(self, python: str | None) -> bool:
        """Whether its extra and-cuda can be installed for a Python, such as "3.12"; None: any."""
        return python is None or version(self.pythons[0]) <= version(python)[:2] <= version(self.pythons[1])


class Tensorflow(KnowledgeTable, frozen=True):
    """The table ``tensorflow.toml``."""

    rules: TensorflowRules
    release: tuple[TensorflowRelease, ...]


@cache
def tensorflow() -> Tensorflow:
    """Return the table, read once."""
    return load("tensorflow", Tensorflow)


def release(number: str) -> TensorflowRelease | None:
    """Return the release of "2.20" or "2.20.0", or None where it is unknown."""
    minor = ".".join(number.split(".")[:2])
    return next((r for r in tensorflow().release if r.version == minor), None)


def release_for(python: str | None, driver_cuda: str | None, capability: str | None) -> TensorflowRelease | None:
    """Return the newest release that brings its CUDA libraries, finds them and fits, or None.

    Args:
        python: "3.12"; None: any.
        driver_cuda: the CUDA version that the driver reports, "12.4"; None: any.
        capability: the GPU's, "8.6"; None: any.
    """
    for found in reversed(tensorflow().release):
        fits_driver = driver_cuda is None or version(driver_cuda)[0] >= version(found.cuda)[0]
        fits_gpu = capability is None or runs(found.version, capability)
        if found.finds_gpu and found.installs_on(python) and fits_driver and fits_gpu:
            return found
    return None


def runs(number: str, capability: str) -> bool:
    """Say whether a release works on a GPU; its PTX does not on capabilities where compiling it is known to fail."""
    kind = kernels_for(number, capability)
    return kind == "machine code" or (kind == "ptx" and not ptx_fails(capability))


def ptx_fails(capability: str) -> bool:
    """Say whether TensorFlow's PTX is known not to run on a GPU of this capability."""
    return version(capability) >= version(tensorflow().rules.ptx_fails_from)


def newest() -> TensorflowRelease:
    """Return the newest release of the table."""
    return tensorflow().release[-1]


def kernels_for(number: str, capability: str) -> Literal["machine code", "ptx"] | None:
    """Say what in a release runs on this GPU; "ptx" is compiled at first use, and not all of it works.

    None where nothing does or the release is unknown: ask `release` first.
    """
    found = release(number)
    return coverage(found.targets, capability) if found else None
