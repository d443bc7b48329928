"""What CuPy's files say without importing it: which CUDA its wheel was built for."""

import re

import msgspec

from gpudoctor.facts.framework import Framework
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.probes.frameworks.discovery import FoundFramework, assignments, read_text

_COMPILED = "CuPy compiles its kernels on the machine"


class _Wheel(msgspec.Struct):
    """cupy/.data/_wheel.json."""

    cuda: str | None = None
    packaging: str = "pip"


def read(machine: Machine, found: FoundFramework) -> Framework:
    """Read its files.

    Args:
        machine: where they lie.
        found: its place and distributions.
    """
    name = found.package.name if found.package else ""
    cuda, hip = _cuda(machine, found, name), _hip(name)
    return Framework(
        name="cupy",
        distribution=name or None,
        version=_version(machine, found),
        location=found.location,
        others=tuple((p.name, p.version) for p in found.others),
        cuda=cuda,
        hip=hip,
        variant="rocm" if hip is not None else cuda if isinstance(cuda, Unknown) else "cuda",
        archs=Unknown(_COMPILED),
        kernels=Unknown(_COMPILED),
        cudnn=None,
        plugin=None,
        plugin_version=None,
        backend_version=None,
    )


def _version(machine: Machine, found: FoundFramework) -> Maybe[str | None]:
    """Of several distributions in one folder the last one to write it decides, so the module's own file comes first."""
    text = read_text(machine, f"{found.location}/_version.py") if found.location else ""
    said = {} if isinstance(text, Unknown) else assignments(text)
    return said.get("__version__") or found.version


def _cuda(machine: Machine, found: FoundFramework, name: str) -> Maybe[str | None]:
    """cupy-cuda12x is for "12", cupy-cuda112 for "11.2"; plain `cupy` was built on some machine, for its CUDA."""
    if _hip(name) is not None:
        return None
    tag = re.fullmatch(r"cupy-cuda(\d\d)(\d?)x?", name)
    if tag:
        return f"{tag[1]}.{tag[2]}" if tag[2] else tag[1]
    wheel = _wheel(machine, found)
    if isinstance(wheel, Unknown):
        return wheel
    return (wheel.cuda or "").removesuffix(".x") or Unknown("cupy/.data/_wheel.json names no CUDA")


def _wheel(machine: Machine, found: FoundFramework) -> _Wheel | Unknown:
    if found.location is None:
        return Unknown(found.why_no_files)
    path = f"{found.location}/.data/_wheel.json"
    text = read_text(machine, path)
    if isinstance(text, Unknown):
        return Unknown(f"{found.location} was built from source; only an import shows for which CUDA")
    try:
        return msgspec.json.decode(text, type=_Wheel)
    except (msgspec.DecodeError, RecursionError) as error:
        return Unknown(f"{path}: {error}")


def _hip(name: str) -> Maybe[str | None]:
    """cupy-rocm-5-0 is for ROCm 5.0; AMD's own amd-cupy does not say which."""
    tag = re.fullmatch(r"cupy-rocm-(\d+)-(\d+)", name)
    if tag:
        return f"{tag[1]}.{tag[2]}"
    return Unknown("amd-cupy does not report for which ROCm it was built") if name == "amd-cupy" else None
