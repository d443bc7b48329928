"""What CuPy's files say without importing it: which CUDA its wheel was built for."""

import re

import msgspec

from gpudoctor.facts.framework import Framework
from gpudoctor.facts.python import Python
from gpudoctor.knowledge import sonames
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.probes.frameworks.discovery import FoundFramework, assignments, read_text
from gpudoctor.probes.frameworks.library_search import Request, Search, in_wheel, majors

_COMPILED = "CuPy compiles its kernels on the machine"


class _Wheel(msgspec.Struct):
    """cupy/.data/_wheel.json."""

    cuda: str | None = None
    packaging: str = "pip"


def read(machine: Machine, _python: Python, found: FoundFramework, _kernels: bool = False) -> Framework:
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
    return Unknown("amd-cupy does not say for which ROCm it was built") if name == "amd-cupy" else None


def requests(search: Search, framework: Framework) -> list[Request]:
    """Before 14.0 CuPy left everything to the loader; since then cuda-pathfinder looks into the wheels first."""
    cuda, _ = majors(framework)
    if cuda is None:
        return []
    version = known_or(framework.version, None) or "0"
    order, with_wheels = search.order(), sonames.finds_wheels("cupy", version)
    return [
        Request(
            name,
            "cupy",
            order,
            first=in_wheel(search, name) if with_wheels else (),
            last=tuple((f"{folder}/{name}", "CUDA_PATH") for folder in _cuda_path(search)) if with_wheels else (),
        )
        for name in sonames.opened("cupy", cuda, None)
    ]


def _cuda_path(search: Search) -> tuple[str, ...]:
    env = search.machine.env
    home = env.get("CUDA_PATH") or env.get("CUDA_HOME") or ""
    return (f"{home}/lib64", f"{home}/lib") if home.startswith("/") else ()
