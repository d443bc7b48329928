"""Which CUDA and cuDNN each ONNX Runtime release for GPUs needs."""

from functools import cache
from typing import Literal

import msgspec

from gpudoctor.knowledge.kernels import coverage, version
from gpudoctor.knowledge.table import KnowledgeTable, load


class OnnxruntimeRelease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What holds from a release on: CUDA and cuDNN majors, Python range, capabilities, extras with CUDA."""

    first: str
    cuda: str
    cudnn: str
    python: tuple[str, str]
    targets: str
    extras: bool


class OnnxruntimeRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rules for all releases."""

    preload_since: str
    last_rocm: str
    first_migraphx: str
    exclusive: tuple[str, ...]


class Provider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A provider that needs libraries which no extra of ONNX Runtime brings."""

    name: str
    file: str
    libraries: tuple[str, ...]
    variables: str
    product: str
    folder: str


class Onnxruntime(KnowledgeTable, frozen=True):
    """The table ``onnxruntime.toml``."""

    row: tuple[OnnxruntimeRelease, ...]
    provider: tuple[Provider, ...]
    tensorrt: dict[str, str]
    rules: OnnxruntimeRules


@cache
def onnxruntime() -> Onnxruntime:
    """Return the table, read once."""
    return load("onnxruntime", Onnxruntime)


def release(number: str) -> OnnxruntimeRelease | None:
    """Return what a release of onnxruntime-gpu ("1.26.0") needs, or None where it is older than the table."""
    wanted = version(".".join(number.split(".")[:2]))
    return next((r for r in reversed(onnxruntime().row) if version(r.first) <= wanted), None)


def tensorrt_of(number: str) -> str | None:
    """Return the TensorRT that a release ("1.22.0") is built with, "10.9"; None where the release is older."""
    rows = onnxruntime().tensorrt
    first = max((r for r in rows if version(r) <= version(number)), key=version, default=None)
    return rows[first] if first else None


def newest_for(cuda_major: int) -> str | None:
    """Return a bound for pip, such as "<1.27", for the newest releases of a CUDA major, or None.

    "" where the newest release of all is one of them.
    """
    rows = onnxruntime().row
    places = [place for place, row in enumerate(rows) if int(row.cuda) == cuda_major]
    if not places:
        return None
    return "" if places[-1] == len(rows) - 1 else f"<{rows[places[-1] + 1].first}"


def extras_for(cuda_major: int) -> bool:
    """Whether the newest releases for a CUDA major have the extras that bring the CUDA libraries."""
    row = next((r for r in reversed(onnxruntime().row) if int(r.cuda) == cuda_major), None)
    return row is not None and row.extras


def serves(cuda_major: int, capability: str | None) -> bool:
    """Say whether the newest releases for a CUDA major have code for this GPU (None: any GPU)."""
    row = next((r for r in reversed(onnxruntime().row) if int(r.cuda) == cuda_major), None)
    return row is not None and (capability is None or coverage(row.targets, capability) is not None)


def kernels_for(number: str, capability: str) -> Literal["machine code", "ptx"] | None:
    """Say what in a release runs on this GPU, or None where nothing does or the release is unknown."""
    found = release(number)
    return coverage(found.targets, capability) if found else None


def can_preload(number: str) -> bool:
    """Say whether a release has ``preload_dlls()``, which loads the CUDA libraries of pip."""
    return version(number) >= version(onnxruntime().rules.preload_since)


def exclusive() -> tuple[str, ...]:
    """Return the packages of which exactly one may be installed."""
    return onnxruntime().rules.exclusive
