"""CUDA toolkits and the host compiler as build tools find them."""

import os
import re
from collections.abc import Iterator, Sequence

from gpudoctor.facts import CudaHome, Host, Nvcc, Toolkits
from gpudoctor.facts.toolkit import OldHeader
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers.compilers import compiler
from gpudoctor.parsers.nvidia_version import nvcc_release
from gpudoctor.probes.nvidia import cuda_libraries, library_headers
from gpudoctor.probes.nvidia.named_paths import named_paths

# Where NVIDIA's installers, Arch and Debian's nvidia-cuda-toolkit put nvcc.
_LOCAL = "/usr/local"
_DEBIAN = "/usr/lib/nvidia-cuda-toolkit/bin"
_ELSEWHERE = ("/opt/cuda/bin", _DEBIAN)
_COMPILERS = ("cc", "gcc", "clang", "c++", "g++", "clang++")
_NVCC_SECONDS = 5.0
_LONGEST_SCRIPT = 4096  # bytes
_NVCC_IN_SCRIPT = pattern(r"/[^\s\"'$]+/nvcc\b")
_CUDART = pattern(r"libcudart\.so\.(\d+\.\d+)\.\d+")
_UNWANTED = Unknown("not asked: there is no GPU to build for")

Versions = dict[str, Maybe[str | None]]


def probe(machine: Machine, host: Host, wanted: bool) -> Toolkits:  # noqa: ARG001 (all probes take the host)
    """Look for toolkits, their libraries and a compiler.

    Args:
        machine: the machine.
        host: what it is.
        wanted: whether there is a GPU on the PCI bus; the compiler and nvcc are run only there, and on WSL.
    """
    wanted = wanted or machine.exists("/dev/dxg")
    installed = _installed(machine)
    nvccs = _nvccs(machine, installed, wanted)
    versions: Versions = {nvcc.real: nvcc.version for nvcc in nvccs}
    cxx = next((path for name in _COMPILERS if (path := machine.which(name))), None)
    return Toolkits(
        nvccs=nvccs,
        home=_home(machine, versions, wanted),
        installed=tuple((folder, _version_file(machine, folder) or _named(machine, folder)) for folder in installed),
        libraries=cuda_libraries.probe(machine),
        headers=library_headers.probe(machine, _roots(machine, nvccs, installed)),
        cxx=cxx,
        cxx_version=_cxx_version(machine, cxx) if wanted else _UNWANTED if cxx else None,
        c_alone=_c_alone(machine) if nvccs else None,
        named_paths=named_paths(machine),
        ldconfig=machine.exists("/sbin/ldconfig"),
    )


def _installed(machine: Machine) -> tuple[str, ...]:
    """Return the toolkits' folders under /usr/local and /opt/cuda, links resolved, each once."""
    beginning = (name for name in machine.names(_LOCAL) if name.startswith("cuda"))
    names = (name for name in beginning if re.fullmatch(r"cuda(?:-\d+(?:\.\d+)*)?", name))
    folders = [machine.real(f"{_LOCAL}/{name}") for name in names] + ["/opt/cuda"]
    return tuple(dict.fromkeys(f for f in folders if _is_toolkit(machine, f)))


def _is_toolkit(machine: Machine, folder: str) -> bool:
    return any(
        machine.exists(f"{folder}/{part}") for part in ("bin", "version.json", "version.txt", "lib64", "include")
    )


def _nvccs(machine: Machine, installed: tuple[str, ...], wanted: bool) -> tuple[Nvcc, ...]:
    """Return every nvcc once: the one on PATH first, as a shell would find it."""
    found: dict[str, Nvcc] = {}
    for folder, on_path in _folders(machine, installed):
        path = f"{folder.rstrip('/')}/nvcc"
        status = machine.status(path)
        if status is None or status.is_dir:
            continue
        real = machine.real(path)
        if real not in found:
            starts = _started(machine, path, status.size)
            version = _nvcc_version(machine, path, starts or real, wanted)
            found[real] = Nvcc(path=path, real=real, version=version, on_path=on_path, starts=starts)
    return tuple(found.values())


def _started(machine: Machine, path: str, size: int) -> str | None:
    """The nvcc that a script starts, as Debian's /usr/bin/nvcc and many images' wrappers do."""
    text = (machine.line(path) or "") if size <= _LONGEST_SCRIPT else ""
    named = _NVCC_IN_SCRIPT.search(text) if text.startswith("#!") else None
    return machine.real(named[0]) if named and named[0] != path and machine.exists(named[0]) else None


def _roots(machine: Machine, nvccs: Sequence[Nvcc], installed: Sequence[str]) -> tuple[str, ...]:
    """The directories that have an include directory: of each toolkit, CUDA_HOME, and the system's."""
    homes = [machine.env.get(name, "").rstrip("/") for name in ("CUDA_HOME", "CUDA_PATH")]
    of_nvccs = (os.path.dirname(os.path.dirname(nvcc.starts or nvcc.real)) for nvcc in nvccs)
    return tuple(dict.fromkeys((*installed, *of_nvccs, *(home for home in homes if home.startswith("/")), "/usr")))


def _folders(machine: Machine, installed: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    for folder in machine.env.get("PATH", "").split(":"):
        if folder.startswith("/"):
            yield folder, True
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if machine.env.get(name, "").startswith("/"):
            yield f"{machine.env[name].rstrip('/')}/bin", False
    for folder in installed:
        yield f"{folder}/bin", False
    for folder in _ELSEWHERE:
        yield folder, False


def _nvcc_version(machine: Machine, path: str, real: str, wanted: bool) -> Maybe[str | None]:
    """The file version.json beside it saves running nvcc; distributions' own packages lack it."""
    for beside in dict.fromkeys((real, path)):
        version = _version_file(machine, os.path.dirname(os.path.dirname(beside)))
        if version:
            return version
    if not wanted:  # no program is started for a machine that only builds
        return _named(machine, os.path.dirname(os.path.dirname(real))) or _UNWANTED
    ended = machine.run([path, "--version"], seconds=_NVCC_SECONDS)
    why = ended.missing or ended.err.strip() or "names no release"
    return nvcc_release(ended.out) or Unknown(f"{path} --version: {why}")


def _version_file(machine: Machine, folder: str) -> str | None:
    """Return "12.4" from version.json (since CUDA 11.1) or version.txt (before)."""
    if text := machine.line(f"{folder}/version.json"):
        found = re.search(r'"cuda"\s*:\s*\{[^}]*"version"\s*:\s*"(\d+\.\d+)', text)
    elif text := machine.line(f"{folder}/version.txt"):
        found = re.search(r"CUDA Version (\d+\.\d+)", text)
    else:
        return None
    return found[1] if found else None


def _named(machine: Machine, folder: str) -> str:
    """The release by names alone: of the directory, else of libcudart ("libcudart.so.12.4.127"); empty: unknown."""
    if found := re.search(r"cuda-(\d+\.\d+)$", folder):
        return found[1]
    places = (f"/usr/lib/{machine.architecture()}-linux-gnu",) if folder == os.path.dirname(_DEBIAN) else ()
    for place in (f"{folder}/lib64", f"{folder}/lib", *places):
        releases = {found[1] for name in machine.names(place) if (found := _CUDART.fullmatch(name))}
        if len(releases) == 1:
            return releases.pop()
    return found[1] if (found := re.search(r"cuda-(\d+)$", folder)) else ""


def _home(machine: Machine, versions: Versions, wanted: bool) -> CudaHome:
    """Follow torch.utils.cpp_extension._find_cuda_home (pytorch/pytorch, releases 2.0 to 2.10).

    An empty CUDA_PATH counts there as the answer "nothing", and so it does here.
    """
    path, why = _home_path(machine)
    if not path:
        return CudaHome(found_by=why, exists=False, nvcc=None, headers=False, lacks=())
    nvcc = f"{path.rstrip('/')}/bin/nvcc"
    own = _own_compiler(machine, nvcc) if wanted else None
    return CudaHome(
        path=path,
        found_by=why,
        exists=machine.exists(path),
        nvcc=versions.get(machine.real(nvcc), Unknown(f"{nvcc} was not run")) if machine.exists(nvcc) else None,
        headers=machine.exists(f"{path.rstrip('/')}/include/cuda_runtime.h"),
        lacks=_lacks(machine, path.rstrip("/")),
        own_compiler=_cxx_version(machine, own),
        old_headers=_old_headers(machine, path.rstrip("/")) if machine.exists(nvcc) else (),
    )


def _c_alone(machine: Machine) -> str | None:
    from gpudoctor.probes.nvidia.host_compiler import c_alone  # most machines have no toolkit

    return c_alone(machine)


def _old_headers(machine: Machine, home: str) -> Maybe[tuple[OldHeader, ...]]:
    from gpudoctor.probes.nvidia.math_header import old_headers  # most machines have no toolkit

    return old_headers(machine, home)


def _lacks(machine: Machine, home: str) -> tuple[str, ...]:
    """The headers and libraries for development that neither the toolkit, nor the system, nor a variable names.

    Only where there are an nvcc and the headers of the runtime: nothing is compiled without.
    """
    if not (machine.exists(f"{home}/bin/nvcc") and machine.exists(f"{home}/include/cuda_runtime.h")):
        return ()
    from gpudoctor.knowledge.toolkits import toolkits  # most machines have no such toolkit

    targets = [f"{home}/targets/{name}" for name in machine.names(f"{home}/targets")]
    system = f"/usr/lib/{machine.architecture()}-linux-gnu"
    includes = [f"{home}/include", *(f"{each}/include" for each in targets), "/usr/include"]
    libraries = [f"{home}/lib64", f"{home}/lib", *(f"{each}/lib" for each in targets), system, "/usr/lib64", "/usr/lib"]
    includes += _named_in(machine, "CPATH", "CPLUS_INCLUDE_PATH")
    libraries += _named_in(machine, "LIBRARY_PATH")
    wanted = [(part.header, includes) for part in toolkits().development]
    wanted += [(part.library, libraries) for part in toolkits().development if part.library]
    return tuple(name for name, places in wanted if not any(machine.exists(f"{place}/{name}") for place in places))


def _named_in(machine: Machine, *variables: str) -> list[str]:
    entries = [entry for name in variables for entry in machine.env.get(name, "").split(":")]
    return [entry.rstrip("/") for entry in entries if entry.startswith("/")]


def _own_compiler(machine: Machine, nvcc: str) -> str | None:
    """A gcc next to nvcc: nvcc puts its own directory first on its PATH (nvcc.profile), which Debian's packages use.

    Debian's /usr/bin/nvcc is a script that starts the one in /usr/lib/nvidia-cuda-toolkit/bin.
    """
    real = machine.real(nvcc)
    folder = _DEBIAN if real == "/usr/bin/nvcc" else os.path.dirname(real)
    own = f"{folder}/gcc"
    return own if folder != "/usr/bin" and machine.exists(own) else None


def _home_path(machine: Machine) -> tuple[str | None, str]:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if machine.env.get(name):
            return machine.env[name], name
    if "CUDA_PATH" in machine.env:
        return None, "CUDA_PATH"
    nvcc = machine.which("nvcc")
    if nvcc:
        return os.path.dirname(os.path.dirname(nvcc)), "nvcc on PATH"
    default = f"{_LOCAL}/cuda"
    return (default, default) if machine.exists(default) else (None, "")


def _cxx_version(machine: Machine, cxx: str | None) -> Maybe[str | None]:
    if cxx is None:
        return None
    ended = machine.run([cxx, "--version"])
    found = compiler(ended.out)
    if found:
        return f"{found.name} {found.version}"
    return Unknown(f"{cxx} --version: {ended.err.strip() or ended.missing or ended.out.strip()[:100] or 'no response'}")
