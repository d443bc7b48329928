"""CUDA toolkits as build tools find them, and the host compiler."""

import msgspec

from gpudoctor.facts.nvidia import DriverLibrary
from gpudoctor.facts.text_types import Version
from gpudoctor.maybe import Maybe, Unknown

NOT = Unknown()


class Nvcc(msgspec.Struct, frozen=True, kw_only=True):
    """One nvcc."""

    path: str
    real: str
    version: Maybe[Version | None] = NOT  # "12.4"
    on_path: bool = False
    starts: str | None = None  # it is a script that starts this nvcc; None: it is none


class OldHeader(msgspec.Struct, frozen=True, kw_only=True):
    """A toolkit's crt/math_functions.h that declares functions otherwise than the C library's headers here do."""

    path: str
    functions: tuple[str, ...]  # "cospi", "sinpi", "rsqrt"


class CudaHome(msgspec.Struct, frozen=True, kw_only=True):
    """The folder that torch.utils.cpp_extension would take as CUDA_HOME."""

    path: str | None = None  # None: no toolkit found
    found_by: str = ""  # CUDA_HOME, CUDA_PATH, nvcc on PATH, /usr/local/cuda
    exists: Maybe[bool] = NOT
    nvcc: Maybe[Version | None] = NOT  # version of its bin/nvcc; None: it has none
    headers: Maybe[bool] = NOT  # include/cuda_runtime.h
    # Files of knowledge/toolkits.toml (development) that neither it nor the system has: "nvrtc.h", "libnvrtc.so".
    lacks: Maybe[tuple[str, ...]] = NOT
    own_compiler: Maybe[str | None] = None  # "gcc 11.3.0": a gcc in nvcc's directory, which nvcc prefers
    old_headers: Maybe[tuple[OldHeader, ...]] = ()


class NamedPath(msgspec.Struct, frozen=True, kw_only=True):
    """A file or directory that an environment variable names, and that a program opens because of it."""

    variable: str  # "TRITON_PTXAS_PATH"
    path: str
    real: str = ""  # its links resolved; empty: it is not there, or not a path
    exists: Maybe[bool] = NOT


class LibraryHeader(msgspec.Struct, frozen=True, kw_only=True):
    """A header of cuDNN or NCCL outside of Python environments: it names the version also where nothing loads it."""

    library: str  # "cuDNN", "NCCL"
    path: str
    version: Version


class Toolkits(msgspec.Struct, frozen=True, kw_only=True):
    """Everything for building CUDA code, and CUDA's libraries outside the Python environment."""

    nvccs: Maybe[tuple[Nvcc, ...]] = NOT
    home: CudaHome = CudaHome()
    installed: Maybe[tuple[tuple[str, str], ...]] = NOT  # (folder, version) of /usr/local/cuda*: links resolved
    libraries: Maybe[tuple[DriverLibrary, ...]] = NOT  # cudart, cublas, cudnn*, nccl ... that the loader finds
    headers: Maybe[tuple[LibraryHeader, ...]] = NOT  # of the toolkits, and of the system
    cxx: Maybe[str | None] = NOT  # path of the host compiler (cc, gcc or clang) on PATH
    cxx_version: Maybe[str | None] = NOT  # "gcc 11.4.0"
    c_alone: str | None = None  # the gcc on PATH, where its C++ compiler (cc1plus) is not installed; only with an nvcc
    named_paths: tuple[NamedPath, ...] = ()
    ldconfig: Maybe[bool] = NOT  # /sbin/ldconfig exists
