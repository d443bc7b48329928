"""Finds every copy of the driver's libraries in the loader's order, without loading or running anything."""

import os
import re
from collections.abc import Iterable, Mapping

import msgspec

from gpudoctor.facts import DriverLibrary, Host
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.parsers import ldcache, loader
from gpudoctor.parsers.nvidia_version import driver_of_file, loaded_driver

CUDA, NVML = "libcuda.so.1", "libnvidia-ml.so.1"
# What JIT compilation and the driver's own compilers need; containers without the `compute` capability lack them.
FURTHER = ("libnvidia-ptxjitcompiler.so.1", "libnvidia-nvvm.so.4")
LINK = "libcuda.so"  # without a number: what a linker looks for
GPUCOMP = "libnvidia-gpucomp.so.1"  # it has no such link, only libnvidia-gpucomp.so.550.54.14
OFF_PATH = "not on the loader's path"
NIXOS = "/run/opengl-driver/lib"
# Folders that the driver's installers, container engines and distributions use beside the loader's own: WSL
# (Microsoft's GPU documentation), Apptainer, COS and GKE, the GPU operator, NixOS, Debian's alternatives, Jetson.
ELSEWHERE = (
    "/.singularity.d/libs",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/home/kubernetes/bin/nvidia/lib64",
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu",
    "/run/nvidia/driver/usr/lib64",
    NIXOS,
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib/aarch64-linux-gnu/tegra",
)
_TOOLKIT_FOLDERS = ("compat", "compat/lib", "lib64/stubs")

Found = tuple[DriverLibrary, ...]


class _DriverLibrarySearch:
    """One look around: the loader's order and the folders beside it."""

    def __init__(self, machine: Machine, host: Host) -> None:
        self.machine = machine
        self.cache, self.problem = _cache(machine, known_or(host.architecture, machine.architecture()))
        self.variable = machine.env.get("LD_LIBRARY_PATH", "")
        self.order = loader.search_order(self.variable, self.cache)
        self.listed: dict[str, list[str]] = {}
        self.elsewhere = (*ELSEWHERE, *_toolkit_folders(machine))

    def copies(self, soname: str) -> Found:
        """Every copy: those in the loader's reach first, in its order; one file appears once."""
        reach = [(c.path, c.why) for c in loader.all_copies(soname, self.order, self._fits)]
        reach += [(path, "LD_LIBRARY_PATH") for path in self._bare(soname)]
        beside = [(path, OFF_PATH) for folder in self.elsewhere for path in self._there(folder, soname)]
        found: dict[str, DriverLibrary] = {}
        for path, why in [*reach, *beside]:
            real = self.machine.real(path)
            found.setdefault(real, self._library(path, real, why))
        return tuple(found.values())

    def versions(self, folders: Iterable[str], soname: str, known: Found = ()) -> Found:
        """Files such as libcuda.so.535.129.03 that no link leads to: remains, or mounts baked into an image."""
        stem, listed = soname.removesuffix("1"), {library.real for library in known}
        found: dict[str, DriverLibrary] = {}
        for folder in folders:
            for name in self._names(folder):
                path = f"{folder}/{name}"
                real = self.machine.real(path) if name.startswith(stem) and driver_of_file(name) else None
                if real and real not in listed:
                    found.setdefault(real, self._library(path, real, OFF_PATH))
        return tuple(found.values())

    def _names(self, folder: str) -> list[str]:
        """What of a driver lies in a folder; a system's folder has thousands of names and is read once."""
        if folder not in self.listed:
            self.listed[folder] = [n for n in self.machine.names(folder) if n.startswith(("libcuda.", "libnvidia-"))]
        return self.listed[folder]

    def _bare(self, soname: str) -> list[str]:
        """A lone libcuda.so of LD_LIBRARY_PATH: programs that open that name (numba does) get it."""
        plain = soname.removesuffix(".1")
        folders = [entry.directory for entry in self.order if entry.why == "LD_LIBRARY_PATH"]
        return [
            f"{folder}/{plain}"
            for folder in folders
            if self._fits(f"{folder}/{plain}") and not self._fits(f"{folder}/{soname}")
        ]

    def _there(self, folder: str, soname: str) -> list[str]:
        names = (soname, soname.removesuffix(".1")) if folder.endswith("/stubs") else (soname,)
        return [path for path in (f"{folder}/{name}" for name in names) if self._fits(path)]

    def _fits(self, path: str) -> bool:
        """Whether a file is there that the loader would open: libraries of 32 bits are passed over."""
        status = self.machine.status(path)
        return status is not None and not status.is_dir and not self._is_32_bit(os.path.dirname(path))

    def _is_32_bit(self, folder: str) -> bool:
        """By the folder: /usr/lib holds 32-bit libraries where /usr/lib64 is another folder (Fedora, openSUSE)."""
        if "i386" in folder or "/lib32" in folder:
            return True
        if folder not in ("/lib", "/usr/lib") or "64" not in self.machine.architecture():
            return False
        multiarch = self.machine.exists(f"/usr/lib/{self.machine.architecture()}-linux-gnu")
        return not multiarch and self.machine.exists("/usr/lib64") and self.machine.real("/usr/lib64") != "/usr/lib"

    def _library(self, path: str, real: str, why: str) -> DriverLibrary:
        status = self.machine.status(path)
        return DriverLibrary(
            soname=os.path.basename(path),
            path=path,
            real=real,
            version=_version(path, real),
            found_by=why,
            kind=_kind_of_place(path, real),
            size=status.size if status else None,
        )


def asked_with(machine: Machine, libraries: Maybe[Found]) -> Mapping[str, str]:
    """Return the environment in which a child loads the driver's libraries: NixOS's, with their directory.

    NixOS's loader does not look there; the programs of nixpkgs, nvidia-smi too, do by their run path
    (https://nixos.org/manual/nixpkgs/, addDriverRunpath). Without it a driver that works would count as missing.

    Args:
        machine: the machine.
        libraries: the copies of the library that will be loaded.
    """
    copies = known_or(libraries, ())
    if all(c.found_by == OFF_PATH for c in copies) and NIXOS in {os.path.dirname(c.path) for c in copies}:
        before = machine.env.get("LD_LIBRARY_PATH")
        return {**machine.env, "LD_LIBRARY_PATH": f"{NIXOS}:{before}" if before else NIXOS}
    return machine.env


def probe(machine: Machine, host: Host) -> tuple[Maybe[Found], Maybe[Found], Found, Maybe[Found]]:
    """Return the copies of libcuda, of libnvidia-ml, the driver's further libraries, and what -lcuda would find.

    The first copy whose `why` is not OFF_PATH and whose soname ends in ".so.1" is the one that the loader
    takes. The lists are empty where there is no copy.
    """
    search = _DriverLibrarySearch(machine, host)
    nvml = search.copies(NVML)
    own = _own_versions(machine, nvml)
    cuda = tuple(_judged(library, own) for library in search.copies(CUDA))
    usual = [machine.real(folder) for folder in loader.DEFAULT_DIRS]
    folders = tuple(dict.fromkeys([*(os.path.dirname(library.real) for library in (*cuda, *nvml)), *usual]))
    others = [lib for soname in FURTHER for lib in search.copies(soname)]
    others += search.versions(folders, GPUCOMP)
    return (
        _sure(cuda + _strays(search.versions(folders, CUDA, cuda)), search),
        _sure(nvml + _strays(search.versions(folders, NVML, nvml)), search),
        tuple(others),
        _sure(search.copies(LINK), search),
    )


def _strays(found: Found) -> Found:
    return tuple(msgspec.structs.replace(library, kind="other") for library in found)


def _cache(machine: Machine, architecture: str) -> tuple[Mapping[str, tuple[str, ...]], str | None]:
    """The loader's cache, and why it cannot be read; a machine without one (NixOS, musl) is no problem."""
    try:
        return ldcache.parse(machine.data("/etc/ld.so.cache"), architecture), None
    except FileNotFoundError:
        return {}, None
    except (OSError, ldcache.CacheFormatError) as error:
        return {}, f"/etc/ld.so.cache: {error}"


def _sure(found: Found, search: _DriverLibrarySearch) -> Maybe[Found]:
    if not found and search.problem:
        return Unknown(search.problem)
    return found


def _toolkit_folders(machine: Machine) -> list[str]:
    roots = [f"/usr/local/{name}" for name in machine.names("/usr/local") if name.startswith("cuda")]
    return [f"{root}/{folder}" for root in roots for folder in _TOOLKIT_FOLDERS]


def _version(path: str, real: str) -> Maybe[str | None]:
    """The driver's version in the file's name; None where such a file has none (a stub, WSL's, Jetson's)."""
    version = driver_of_file(os.path.basename(real))
    if version or _kind_of_place(path, real) in ("stub", "wsl") or real.endswith(".so.1.1"):
        return version
    return Unknown(f"the name of {real} contains no driver version")


def _kind_of_place(path: str, real: str) -> str:
    """The kind that a path tells; a link to a stub is a stub."""
    places = f"{path}\n{real}"
    if "/stubs/" in places:
        return "stub"
    if re.search(r"/(cuda-)?compat[^/]*/", places):
        return "compat"
    return "wsl" if "/usr/lib/wsl/" in places else "driver"


def _own_versions(machine: Machine, nvml: Found) -> frozenset[str]:
    """The installed driver's version: libnvidia-ml's, which no compatibility package brings, else the module's."""
    try:
        loaded = loaded_driver(machine.text("/proc/driver/nvidia/version"))
    except OSError:
        loaded = None
    versions = frozenset(lib.version for lib in nvml if isinstance(lib.version, str))
    if loaded and (loaded.version in versions or not versions):
        return frozenset((loaded.version,))
    return versions


def _judged(library: DriverLibrary, own: frozenset[str]) -> DriverLibrary:
    """A libcuda of another version than the driver's own came from a compatibility package or an image."""
    if library.kind != "driver":
        return library
    if isinstance(library.version, str) and own and library.version not in own:
        return msgspec.structs.replace(library, kind="compat")
    if library.soname == "libcuda.so" and not isinstance(library.version, str):
        return msgspec.structs.replace(library, kind="other")
    return library
