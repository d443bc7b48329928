"""Follows the dynamic loader from a framework's libraries to those of CUDA, ROCm and oneAPI that they would get."""

import os
import re
from collections.abc import Iterable, Sequence

import msgspec

from gpudoctor.facts.framework import Framework, Need
from gpudoctor.facts.python import Package
from gpudoctor.knowledge.sonames import library_of, oneapi_wheel_of, vendor_of
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.parsers import ldcache, loader
from gpudoctor.parsers.elf import Dynamic, NotElfError, read_dynamic

# AMD's wheels of ROCm, rocm-sdk-core and rocm-sdk-libraries-*, have their files here:
# https://github.com/ROCm/TheRock/blob/main/docs/packaging/python_packaging.md
_ROCM = "_rocm_sdk_"
# compiler/2025.3/lib and, of all components, 2025.3/lib; up to 2023 compiler/2023.2.0/linux/lib.
_ONEAPI = pattern(r"/(20\d\d\.\d+(?:\.\d+)?)/(?:linux/)?lib")
# A hundred libraries are far more than any framework needs.
_MOST = 100


class Request(msgspec.Struct, frozen=True):
    """A library that something asks for.

    `first` are paths that are tried before the loader, and `last` those after it, each with its reason.
    """

    soname: str
    needed_by: str
    order: tuple[loader.LoaderStep, ...]
    rpath: tuple[str, ...] = ()
    first: tuple[tuple[str, str], ...] = ()
    last: tuple[tuple[str, str], ...] = ()


class Search:
    """The loader's view of one environment.

    Args:
        machine: the machine.
        sites: the folders on sys.path that may hold nvidia/.
        packages: the environment's distributions.
        rpath: DT_RPATH of the interpreter, which the loader searches for everything that has no RUNPATH.
        own: further folders of the framework itself, such as torch/lib, and the version of the cuDNN in them;
            that of Intel's wheels.
        cuda: folders of CUDA installations, where copies are looked for.
    """

    def __init__(
        self,
        machine: Machine,
        sites: Sequence[str],
        packages: Sequence[Package],
        rpath: tuple[str, ...] = (),
        own: Sequence[str] = (),
        own_cudnn: str | None = None,
        cuda: Sequence[str] = (),
    ) -> None:
        self.machine, self.sites, self.packages = machine, tuple(sites), tuple(packages)
        self.rpath, self.own, self.own_cudnn, self.cuda = rpath, tuple(own), own_cudnn, tuple(cuda)
        nvidia = (f"{site}/nvidia/{part}/lib" for site in sites for part in machine.names(f"{site}/nvidia"))
        self.rocm = tuple(
            f"{site}/{part}/lib" for site in sites for part in machine.names(site) if part.startswith(_ROCM)
        )
        self.wheels = (*nvidia, *self.rocm)
        self._ld_path = machine.env.get("LD_LIBRARY_PATH", "")
        self.cache = _cache(machine)

    def order(
        self,
        dynamic: Dynamic | None = None,
        origin: str = "",
        above: tuple[str, ...] = (),
        also: tuple[str, ...] = (),
    ) -> tuple[loader.LoaderStep, ...]:
        """The places that are searched for what a library needs.

        Args:
            dynamic: its dynamic section; None: a program opens it that has none of its own to look at.
            origin: its folder.
            above: DT_RPATH of those that loaded it.
            also: folders that count as its RUNPATH, or as RPATH where that is what it has.
        """
        runpath, rpath = (dynamic.runpath, dynamic.rpath) if dynamic else ((), ())
        chain = (*rpath, *above)
        if chain and not runpath:
            chain = (*chain, *also, *self.rpath)
        else:
            runpath = (*runpath, *also)
            chain = () if runpath else self.rpath
        return loader.search_order(self._ld_path, self.cache, tuple(dict.fromkeys(runpath)), chain, origin)

    def of_file(self, path: str) -> list[Request]:
        """What a library links to, as far as it is CUDA's, ROCm's or oneAPI's."""
        dynamic = dynamic_of(self.machine, path)
        return self._linked(path, dynamic, ()) if dynamic else []

    def walk(self, requests: Iterable[Request]) -> tuple[Need, ...]:
        """Resolve the requests and what their libraries need in turn.

        The first library of a name wins, as it does in a process.
        """
        queue, needs = list(requests), dict[str, Need]()
        while queue and len(needs) < _MOST:
            request = queue.pop(0)
            if request.soname in needs:
                continue
            need = self._need(request)
            needs[request.soname] = need
            queue += self._further(need, request)
        return tuple(needs.values())

    def wheel(self, soname: str) -> str | None:
        """The copy in an nvidia wheel, or in the framework's own folder."""
        return next((f"{d}/{soname}" for d in (*self.wheels, *self.own) if self._exists(f"{d}/{soname}")), None)

    def short(self, path: str) -> str:
        """A path below a folder of sys.path without that folder."""
        return next((path[len(site) + 1 :] for site in self.sites if path.startswith(f"{site}/")), path)

    def _exists(self, path: str) -> bool:
        return self.machine.exists(path)

    def _need(self, request: Request) -> Need:
        path, how = self._resolve(request)
        path = self._tidy(path) if path else None
        wheel = self.wheel(request.soname)
        return Need(
            soname=request.soname,
            needed_by=request.needed_by,
            path=path,
            how=how,
            version=self._version(path) if path else None,
            copies=self._copies(request, path, wheel),
            wheel=wheel,
            wheel_version=self._version(wheel) if wheel else None,
        )

    def _resolve(self, request: Request) -> tuple[str | None, str]:
        for path, how in request.first:
            if self._exists(path):
                return path, how
        found = loader.resolve(request.soname, request.order, self._exists)
        if found:
            return found.path, found.why
        return next(((path, how) for path, how in request.last if self._exists(path)), (None, ""))

    def _tidy(self, path: str) -> str:
        """The path without its `..`, where no link makes that another file."""
        short = os.path.normpath(path)
        return short if self.machine.real(short) == self.machine.real(path) else path

    def _copies(self, request: Request, path: str | None, wheel: str | None) -> tuple[str, ...]:
        seen = {self.machine.real(path)} if path else set()
        reachable = [found.path for found in loader.all_copies(request.soname, request.order, self._exists)]
        elsewhere = [f"{folder}/{request.soname}" for folder in (*self.wheels, *self.own, *self.cuda)]
        copies = []
        for copy in (*reachable, *((wheel,) if wheel else ()), *elsewhere):
            real = self.machine.real(copy)
            if real not in seen and self._exists(copy):
                seen.add(real)
                copies.append(self._tidy(copy))
        return tuple(copies)

    def _further(self, need: Need, request: Request) -> list[Request]:
        if need.path is None:
            return []
        dynamic = dynamic_of(self.machine, self.machine.real(need.path))
        further = self._linked(need.path, dynamic, request.rpath) if dynamic else []
        return further + self._parts_of_cudnn(need, dynamic, request)

    def _linked(self, path: str, dynamic: Dynamic, above: tuple[str, ...]) -> list[Request]:
        origin = os.path.dirname(self.machine.real(path))
        order, rpath = self.order(dynamic, origin, above), self._expanded(dynamic, origin, above)
        names = [name for name in dynamic.needed if vendor_of(name)]
        last = [self._preloaded(name) for name in names]
        return [
            Request(name, self.short(path), order, rpath, last=also) for name, also in zip(names, last, strict=True)
        ]

    def _preloaded(self, soname: str) -> tuple[tuple[str, str], ...]:
        """PyTorch opens NVIDIA's wheels by path where the loader alone finds nothing (its _preload_cuda_deps)."""
        found = self.wheel(soname) if self.own and vendor_of(soname) != "intel" else None
        return ((found, "wheel"),) if found else ()

    def _expanded(self, dynamic: Dynamic, origin: str, above: tuple[str, ...]) -> tuple[str, ...]:
        own = () if dynamic.runpath else dynamic.rpath
        return (*(entry.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for entry in own), *above)

    def _parts_of_cudnn(self, need: Need, dynamic: Dynamic | None, request: Request) -> list[Request]:
        """The main library opens its parts by bare name (libcudnn_ops.so.9), so each may come from another folder."""
        if need.path is None or not re.match(r"libcudnn\.so", need.soname):
            return []
        folder = os.path.dirname(need.path)
        end = need.soname.removeprefix("libcudnn")
        folders = [folder, *(os.path.dirname(copy) for copy in need.copies)]
        names = dict.fromkeys(
            name
            for each in folders
            for name in self.machine.names(each)
            if re.match(r"libcudnn_\w+" + re.escape(end) + "$", name)
        )
        # NVIDIA links cuDNN with $ORIGIN, so its own folder comes before the loader's cache (read in cuDNN 9.26).
        origin = os.path.dirname(self.machine.real(need.path))
        order = self.order(dynamic, origin, request.rpath, also=(folder,))
        parts = [Request(name, self.short(need.path), order, request.rpath) for name in names]
        # A part that only some unreachable folder has belongs to a cuDNN that nobody loads.
        return [part for part in parts if self._resolve(part)[0]]

    def _version(self, path: str) -> str | None:
        """From the name of the file behind links, the wheel that brought it, or the header beside it."""
        real = self.machine.real(path)
        if vendor_of(os.path.basename(path)) == "intel":  # whose files count by themselves: libur_loader.so.0.12.0
            return self._oneapi_release(real)
        number = os.path.basename(real).partition(".so.")[2]
        if number.count(".") >= 2:
            return number
        if any(path.startswith(f"{folder}/") for folder in self.wheels):
            return self._wheel_version(path)
        if os.path.basename(path).startswith("libcudnn"):
            bundled = any(path.startswith(f"{folder}/") for folder in self.own)
            return self.own_cudnn if bundled else self._header_version(real)
        return None

    def _oneapi_release(self, real: str) -> str | None:
        """The release of oneAPI that a library is of: of the wheel that brings it, or in the directory's name."""
        if os.path.dirname(real) in map(self.machine.real, self.own):
            wheel = oneapi_wheel_of(real)
            return next((package.version for package in self.packages if package.name == wheel), None)
        found = _ONEAPI.search(real)
        return found[1] if found else None

    def _wheel_version(self, path: str) -> str | None:
        row = library_of(os.path.basename(path))
        if row is None:
            return None
        found = [p for p in self.packages if re.fullmatch(re.escape(row.wheel) + r"(-cu\d+)?", p.name)]
        site = path.partition("/nvidia/")[0]
        major = os.path.basename(path).partition(".so.")[2].partition(".")[0]
        found.sort(key=lambda p: (p.directory.rstrip("/") != site, p.version.partition(".")[0] != major))
        return found[0].version if found else None

    def _header_version(self, path: str) -> str | None:
        folder = os.path.dirname(path)
        for header in (f"{folder}/../include/cudnn_version.h", "/usr/include/cudnn_version.h"):
            if header.startswith("/usr/include") and not folder.startswith(("/usr/lib", "/lib")):
                continue
            try:
                text = self.machine.text(os.path.normpath(header))
            except OSError:
                continue
            parts = re.findall(r"#define CUDNN_(?:MAJOR|MINOR|PATCHLEVEL)\s+(\d+)", text)
            if len(parts) == 3:
                return ".".join(parts)
        return None


def dynamic_of(machine: Machine, path: str) -> Dynamic | None:
    """A library's or a program's dynamic section; None where there is none that can be read."""
    try:
        with machine.open(path) as file:
            return read_dynamic(file)
    except (OSError, NotElfError):
        return None


def gpu_code(machine: Machine, path: str, wanted: bool) -> Maybe[tuple[str, ...]]:
    """The architectures that a CUDA library as a whole has code for.

    Args:
        machine: where it lies.
        path: the library.
        wanted: count; it takes up to 0.3 s on a cold disk.
    """
    if not wanted:
        return Unknown("the GPU code was not counted")
    from gpudoctor.parsers.fatbin import covering, kernels

    try:
        with machine.open(path) as file:
            counts = kernels(file)
    except (OSError, NotElfError) as error:
        return Unknown(f"{path}: {error}")
    return covering(counts) or Unknown(f"{path} contains no GPU code that could be counted")


def _cache(machine: Machine) -> dict[str, tuple[str, ...]]:
    try:
        return ldcache.parse(machine.data("/etc/ld.so.cache"), machine.architecture())
    except (OSError, ldcache.CacheFormatError):
        return {}


def majors(framework: Framework) -> tuple[str | None, str | None]:
    """The majors of CUDA and of cuDNN that a framework is built for."""
    cuda, cudnn = known_or(framework.cuda, None), known_or(framework.cudnn, None)
    return (cuda.partition(".")[0] if cuda else None), (cudnn.partition(".")[0] if cudnn else None)


def in_wheel(search: Search, soname: str) -> tuple[tuple[str, str], ...]:
    """The path of a library in its wheel, with the reason, as `Request` takes it."""
    found = search.wheel(soname)
    return ((found, "wheel"),) if found else ()
