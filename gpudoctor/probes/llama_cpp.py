"""llama.cpp's programs, the libraries for GPUs that they load, and which of those libraries' own needs are not found.

A build links its backends, or has them in files of their own that it opens when it starts (GGML_BACKEND_DL):
ggml/src/ggml-backend-reg.cpp of llama.cpp.
"""

import os
from collections.abc import Iterator

import msgspec

from gpudoctor.facts import Need
from gpudoctor.facts.llama_cpp import NO_LLAMA_CPP, GgmlBackend, LlamaCpp
from gpudoctor.knowledge.llama_cpp import backend_of, for_gpus, table
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers import loader
from gpudoctor.parsers.elf import Dynamic, NotElfError
from gpudoctor.probes import LLAMA_CPP_PLACES, LLAMA_CPP_PROGRAMS
from gpudoctor.probes.frameworks.library_search import Request, Search, dynamic_of

_OWN = pattern(r"lib(?:ggml|llama|mtmd|whisper)[\w.-]*\.so[\d.]*")
_BACKEND = pattern(r"libggml-([a-z]+)[\w-]*\.so([\d.]*)")
_VULKAN = "libvulkan.so.1"
_TENSILE = pattern(r"TensileLibrary_lazy_(gfx\w+)\.dat")
# A script with one of these gives the program an environment of its own.
_SETS_PATHS = (b"LD_LIBRARY_PATH", b"LD_PRELOAD", b"setvars", b"module load")
_UNITS = "/etc/systemd/system"
_MOST = 40  # own libraries; a build has some fifteen
_HEAD = 1 << 16


class _Found(msgspec.Struct):
    """What a program maps of llama.cpp's own: path -> its dynamic section; and what is missing of that."""

    linked: dict[str, Dynamic]
    lost: tuple[Need, ...] = ()


def probe(machine: Machine) -> LlamaCpp:
    """Look at the first program and what it would load; nothing is started."""
    program = next((p for name in LLAMA_CPP_PROGRAMS if (p := machine.which(name, LLAMA_CPP_PLACES))), None)
    if program is None:
        return NO_LLAMA_CPP
    if why := _other_search(machine):
        return LlamaCpp(program=program, backends=Unknown(why))
    real = machine.real(program)
    dynamic = dynamic_of(machine, real)
    if dynamic is None:
        return LlamaCpp(program=program, backends=_of_script(machine, program, real))
    if dynamic.machine != machine.architecture():
        return LlamaCpp(program=program, backends=Unknown(f"{real} is built for {dynamic.machine}"))
    entries = () if dynamic.runpath else dynamic.rpath
    origin = os.path.dirname(real)
    search = _search(machine, tuple(entry.replace("$ORIGIN", origin) for entry in entries))
    if isinstance(search, Unknown):
        return LlamaCpp(program=program, backends=search)
    found = _mapped(machine, search, real, dynamic)
    backends = _backends(machine, search, program, found)
    registered = _vulkan_drivers(machine, backends)
    return LlamaCpp(program=program, backends=backends, missing=found.lost, vulkan_drivers=registered)


def _vulkan_drivers(machine: Machine, backends: Maybe[tuple[GgmlBackend, ...]]) -> Maybe[tuple[str, ...] | None]:
    if isinstance(backends, Unknown):
        return backends
    if not any(one.kind == "vulkan" for one in backends):
        return None
    from gpudoctor.probes.vulkan import drivers

    return drivers(machine)


def _other_search(machine: Machine) -> str:
    """Why the search of glibc's loader in this environment is not the one that counts; "" where it is."""
    if any(name.startswith("ld-musl-") for name in machine.names("/lib")):
        return "musl's loader searches other directories"
    if "NIX_LD" in machine.env:
        return "nix-ld chooses the directories of libraries"
    for name in machine.names(_UNITS):
        if ("llama" in name or "whisper" in name) and name.endswith(".service"):
            text = machine.line(f"{_UNITS}/{name}") or ""
            if "LD_LIBRARY_PATH" in text or "EnvironmentFile" in text:
                return f"{name} starts it with variables of its own"
    return ""


def _search(machine: Machine, rpath: tuple[str, ...] = ()) -> Search | Unknown:
    rows = table().backend.values()
    homes = [machine.env.get(name, "") for name in ("ROCM_PATH", "CUDA_PATH", "CUDA_HOME")]
    named = [f"{home.rstrip('/')}/{lib}" for home in homes if home.startswith("/") for lib in ("lib", "lib64")]
    places = [folder for row in rows for place in row.places for folder in _folders(machine, place)]
    search = Search(machine, (), (), rpath=rpath, cuda=(*named, *places, "/usr/local/lib"))
    if not search.cache and machine.exists("/etc/ld.so.cache"):
        return Unknown("/etc/ld.so.cache could not be read")
    return search


def _folders(machine: Machine, place: str) -> Iterator[str]:
    """The directories that a place with "*" in the name of one stands for."""
    before, star, after = place.partition("*")
    if not star:
        yield place
        return
    parent, _, start = before.rpartition("/")
    end, _, rest = after.partition("/")
    for name in machine.names(parent):
        folder = f"{parent}/{name}/{rest}"
        if name.startswith(start) and name.endswith(end) and machine.names(folder):
            yield folder


def _mapped(machine: Machine, search: Search, program: str, dynamic: Dynamic) -> _Found:
    """The program and the libraries of llama.cpp's own that it links to, and that those link to."""
    linked, lost, queue = {program: dynamic}, dict[str, Need](), [program]
    while queue and len(linked) < _MOST:
        path = queue.pop(0)
        here = os.path.dirname(path)
        order = search.order(linked[path], here)
        for name in (n for n in linked[path].needed if _OWN.fullmatch(n)):
            place = loader.resolve(name, order, machine.exists)
            if place is None:
                folders = (os.path.dirname(program), f"{os.path.dirname(os.path.dirname(program))}/lib", *search.cuda)
                copies = tuple(f for d in dict.fromkeys(folders) if machine.exists(f := f"{d}/{name}"))
                lost.setdefault(name, Need(soname=name, needed_by=path, copies=copies))
                continue
            real = machine.real(place.path)
            if real not in linked and (own := dynamic_of(machine, real)):
                linked[real] = own
                queue.append(real)
    return _Found(linked, tuple(lost.values()))


def _backends(machine: Machine, search: Search, program: str, found: _Found) -> Maybe[tuple[GgmlBackend, ...]]:
    linked = {path: kind for path, own in found.linked.items() if (kind := _kind(path, own))}
    real = next(iter(found.linked))
    folders = dict.fromkeys((os.path.dirname(real), os.path.dirname(program)))
    opened, cpu = dict[str, str](), any("libggml-cpu" in os.path.basename(path) for path in found.linked)
    for folder in (*folders, *_of_packages(machine, found)):
        for name in machine.names(folder):
            own = _BACKEND.fullmatch(name)
            # A file that is opened has no number; the link of one that the linker takes has, at its other end.
            if own and not own[2] and machine.link(f"{folder}/{name}") is None:
                cpu = cpu or own[1] == "cpu"
                if for_gpus(own[1]):
                    opened.setdefault(own[1], f"{folder}/{name}")
    if not linked and not opened and not cpu:
        return Unknown(f"{program} has its backends in itself, or where nobody looked")
    return (
        *(_backend(machine, search, kind, path, linked=True) for path, kind in linked.items()),
        *(_backend(machine, search, kind, path, linked=False) for kind, path in opened.items()),
    )


def _of_packages(machine: Machine, found: _Found) -> Iterator[str]:
    """The directories of backends that packages build in: Debian's ggml/backends0, and Homebrew's libexec."""
    for folder in dict.fromkeys(os.path.dirname(path) for path in found.linked if "libggml" in path):
        yield from (f"{folder}/ggml/{name}" for name in machine.names(f"{folder}/ggml"))
        yield f"{os.path.dirname(folder)}/libexec"


def _kind(path: str, dynamic: Dynamic) -> str | None:
    """The backend that a file is, or that is linked into it."""
    own = _BACKEND.fullmatch(os.path.basename(path))
    if own:
        return own[1] if for_gpus(own[1]) else None
    return next((kind for name in dynamic.needed if (kind := backend_of(name))), None)


def _backend(machine: Machine, search: Search, kind: str, path: str, *, linked: bool) -> GgmlBackend:
    dynamic = dynamic_of(machine, path)
    if dynamic is None or dynamic.machine != machine.architecture():
        return GgmlBackend(kind=kind, path=path, linked=linked)
    requests = search.of_file(path)
    if _VULKAN in dynamic.needed:
        requests.append(Request(_VULKAN, path, search.order(dynamic, os.path.dirname(path))))
    needs = tuple(search.walk(requests))
    missing = tuple(need for need in needs if need.path is None)
    blas = next((need.path for need in needs if need.path and need.soname.startswith("librocblas.")), None)
    return GgmlBackend(
        kind=kind,
        path=path,
        linked=linked,
        missing=missing,
        targets=_targets(machine, kind, path),
        blas=_blas(machine, blas) if blas else (),
    )


def _targets(machine: Machine, kind: str, path: str) -> Maybe[tuple[str, ...]]:
    """The targets of its code for GPUs, of the kinds that are compiled for some."""
    if kind not in ("cuda", "hip"):
        return ()
    from gpudoctor.parsers import fatbin, hip_fatbin

    try:
        with machine.open(path) as file:
            return tuple(fatbin.kernels(file)) if kind == "cuda" else hip_fatbin.targets(file)
    except (OSError, NotElfError) as error:
        return Unknown(f"{path}: {error}")


def _blas(machine: Machine, library: str) -> tuple[str, ...]:
    """The targets of rocBLAS's files, which are in a directory next to its library."""
    names = machine.names(f"{os.path.dirname(machine.real(library))}/rocblas/library")
    return tuple(sorted({found[1] for name in names if (found := _TENSILE.fullmatch(name))}))


def _of_script(machine: Machine, program: str, real: str) -> Maybe[tuple[GgmlBackend, ...]]:
    """The backends next to a script that starts the program, in its directory or in that of a link to it."""
    try:
        with machine.open(real) as file:
            text = file.read(_HEAD)
    except OSError as error:
        return Unknown(f"{real}: {error}")
    if any(word in text for word in _SETS_PATHS):
        return Unknown(f"{program} is a script that sets where libraries are searched")
    name = os.path.basename(program)
    places = (f"{place}/{name}" for place in LLAMA_CPP_PLACES)
    links = (place for place in places if machine.exists(place) and machine.real(place) == real)
    folders = dict.fromkeys(os.path.dirname(path) for path in (program, real, *links))
    files = [f"{folder}/{file}" for folder in folders for file in machine.names(folder)]
    kinds = {kind: path for path in files if (own := _BACKEND.fullmatch(os.path.basename(path))) and (kind := own[1])}
    search = _search(machine)
    if isinstance(search, Unknown):
        return search
    if not any(map(for_gpus, kinds)):
        return Unknown(f"{program} is a script that starts a program elsewhere")
    return tuple(
        _backend(machine, search, kind, path, linked=not path.endswith(".so"))
        for kind, path in kinds.items()
        if for_gpus(kind)
    )
