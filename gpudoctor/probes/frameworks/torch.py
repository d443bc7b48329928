"""What PyTorch's files say without importing it: what it was built for, and which GPU code it holds."""

import re
from typing import TYPE_CHECKING

from gpudoctor.facts.framework import Framework
from gpudoctor.facts.python import Package, Python
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.probes.frameworks.discovery import FoundFramework, assignments, read_text

if TYPE_CHECKING:
    from gpudoctor.probes.frameworks.library_search import Request, Search

_CUDNN_PIN = pattern(r"nvidia-cudnn(?:-cu\d+)?\s*\(?==\s*([\d.]+)")
_PIN = pattern(r"(nvidia-[a-z0-9-]+?)(?:-cu(\d+))?\s*\(?(?:==|<|>|~|;|$)")
_PRELOADED = tuple(f"lib{name}.so." for name in ("amdhip64", "hipblaslt", "MIOpen", "rccl", "rocblas"))
_FILES = (
    "libtorch_cuda.so", "libtorch_cuda_linalg.so", "libc10_cuda.so", "libtorch_hip.so", "libc10_hip.so",
    "libtorch_xpu.so", "libc10_xpu.so",
)  # fmt: skip


def read(machine: Machine, python: Python, found: FoundFramework, kernels: bool = False) -> Framework:
    """Read its files.

    Args:
        machine: where they lie.
        python: the environment.
        found: its place and distributions.
        kernels: count the GPU code as well, up to 0.3 s on a cold disk.
    """
    text = _version_file(machine, found)
    said = {} if isinstance(text, Unknown) else assignments(text)
    version = said.get("__version__") or found.version
    cuda, hip, xpu = (_platform(python, text, said, version, name) for name in ("cuda", "hip", "xpu"))
    variant = _variant(cuda, hip, xpu)
    if variant == "cpu" and machine.system == "Darwin" and python.architecture == "arm64":
        variant = "mps"  # so are all builds for Apple's chips since 1.12; what it says when it is imported decides
    on_gpu = variant in ("cuda", "rocm")
    return Framework(
        name="torch",
        distribution=found.package.name if found.package else None,
        version=version,
        location=found.location,
        others=tuple((p.name, p.version) for p in found.others),
        cuda=cuda,
        hip=hip,
        variant=variant,
        archs=_archs(machine, found) if on_gpu else _none(variant),
        blas=_blas(machine, found) if variant == "rocm" else _none(variant),
        kernels=_kernels(machine, found, kernels) if variant == "cuda" else _none(variant),
        cudnn=_cudnn(found.package, version, cuda),
        plugin=None,
        plugin_version=None,
        backend_version=None,
    )


def _version_file(machine: Machine, found: FoundFramework) -> str | Unknown:
    if found.location is None:
        return Unknown(found.why_no_files)
    if found.location.endswith(".py"):
        return Unknown(f"{found.location} is not PyTorch")
    return read_text(machine, f"{found.location}/version.py")


def _platform(
    python: Python,
    text: str | Unknown,
    said: dict[str, str | None],
    version: Maybe[str | None],
    name: str,
) -> Maybe[str | None]:
    """torch/version.py decides; where it is gone, the version's local part or conda's build string does.

    Up to 2.6 it has no line for XPU (https://github.com/huggingface/kernels/pull/165), so +xpu decides there.
    """
    if not isinstance(text, Unknown) and (said.get(name) or name != "xpu"):
        return said.get(name) or None
    tag = known_or(version, None) or ""
    local = tag.partition("+")[2] or _conda_tag(python)
    if not local:
        return text if isinstance(text, Unknown) else None
    if local.startswith("cpu"):
        return None
    shape = {"cuda": r"cu(\d+)", "hip": r"rocm([\d.]+)", "xpu": r"(xpu)"}[name]
    match = re.match(shape, local)
    if not match:
        return None
    if name != "cuda":
        return match[1]
    from gpudoctor.knowledge import torch as releases

    return releases.cuda_of_variant(f"cu{match[1]}")


def _conda_tag(python: Python) -> str:
    """Conda's build string as a wheel would be tagged: py3.11_cuda12.1_cudnn8 is cu121, cpu_generic is cpu."""
    for package in known_or(python.conda, None) or ():
        if package.name in ("pytorch", "libtorch"):
            match = re.search(r"cuda_?(\d+)\.?(\d*)", package.build)
            return f"cu{match[1]}{match[2]}" if match else "cpu" if "cpu" in package.build else ""
    return ""


def _variant(cuda: Maybe[str | None], hip: Maybe[str | None], xpu: Maybe[str | None]) -> Maybe[str]:
    for fact, name in ((cuda, "cuda"), (hip, "rocm"), (xpu, "xpu")):
        if isinstance(fact, str):
            return name
    return cuda if isinstance(cuda, Unknown) else "cpu"


def _none(variant: Maybe[str]) -> Maybe[tuple[str, ...]]:
    return variant if isinstance(variant, Unknown) else ()


# What reads libraries is imported where there are some of a GPU's: builds for the processor alone have none.
def _kernels(machine: Machine, found: FoundFramework, count: bool) -> Maybe[tuple[str, ...]]:
    from gpudoctor.probes.frameworks.library_search import gpu_code

    return gpu_code(machine, f"{found.location}/lib/{_FILES[0]}", count)


def _archs(machine: Machine, found: FoundFramework) -> Maybe[tuple[str, ...]]:
    from gpudoctor.parsers.elf import NotElfError
    from gpudoctor.parsers.torch_arch import torch_arch_list

    path = f"{found.location}/lib/libtorch_python.so"
    try:
        with machine.open(path) as file:
            listed = torch_arch_list(file)
    except (OSError, NotElfError) as error:
        return Unknown(f"{path}: {error}")
    return Unknown(f"{path} contains no list of architectures") if listed is None else listed


def _blas(machine: Machine, found: FoundFramework) -> tuple[str, ...]:
    """The targets of the rocBLAS in its own folder."""
    from gpudoctor.parsers import rocblas

    return rocblas.targets(machine.names(f"{found.location}/lib/rocblas/library"))


def _cudnn(package: Package | None, version: Maybe[str | None], cuda: Maybe[str | None]) -> Maybe[str | None]:
    """The version that the wheel pins; of a wheel that brings its own, the version that the release was built with."""
    if not isinstance(cuda, str):
        return cuda
    pins = [match[1] for line in (package.requires if package else ()) if (match := _CUDNN_PIN.match(line))]
    if pins:
        return pins[0]
    from gpudoctor.knowledge import torch as releases

    known_release = releases.release(known_or(version, None) or "")
    variant = "cu" + "".join(cuda.split(".")[:2])
    of_release = known_release.cudnn.get(variant) if known_release else None
    return of_release or Unknown("neither the distribution's metadata nor a table of releases names a cuDNN")


def requests(search: "Search", framework: Framework) -> "list[Request]":
    """The libraries that its own link to, that its metadata pins, or that are in torch/lib."""
    files = [f"{framework.location}/lib/{name}" for name in _FILES]
    if isinstance(framework.hip, str):
        # torch/_rocm_init.py opens those of AMD's wheels by path; what they link to is the loader's matter.
        files += [
            f"{at}/{name}" for at in search.rocm for name in search.machine.names(at) if name.startswith(_PRELOADED)
        ]
    linked = [request for path in files for request in search.of_file(path)]
    return linked or _pinned(search, framework, files[0]) or _bundled(search, framework, files[0])


def _pinned(search: "Search", framework: Framework, path: str) -> "list[Request]":
    """The libraries of the wheels that the metadata pins, where the files themselves do not tell."""
    from gpudoctor.knowledge import sonames
    from gpudoctor.probes.frameworks.library_search import Request, majors

    package = next((p for p in search.packages if p.name == framework.distribution), None)
    cuda, cudnn = majors(framework)
    wanted: dict[str, None] = {}
    for line in package.requires if package else ():
        pin = _PIN.match(line)
        for stem in sonames.stems_of(pin[1]) if pin else ():
            name = sonames.soname_of(stem, pin[2] or cuda or "", cudnn) if pin else None
            wanted |= {name: None} if name else {}
    order = search.order()
    return [
        Request(name, search.short(path), order, last=((wheel, "wheel"),) if (wheel := search.wheel(name)) else ())
        for name in wanted
    ]


def _bundled(search: "Search", framework: Framework, path: str) -> "list[Request]":
    """The libraries in torch/lib itself, where the files do not tell, as in CUDA 11.8 wheels up to 2.0."""
    from gpudoctor.knowledge import sonames
    from gpudoctor.probes.frameworks.library_search import Request

    folder = f"{framework.location}/lib"
    names = [n for n in search.machine.names(folder) if sonames.library_of(n) and not n.startswith("libcudnn_")]
    order = search.order(also=(folder,))
    return [Request(name, search.short(path), order) for name in names]
