"""Which CUDA and ROCm libraries a framework needs, and where each would come from in this environment."""

from gpudoctor.facts.framework import Framework, Need
from gpudoctor.facts.python import Python
from gpudoctor.knowledge import sonames
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.probes.frameworks.library_search import Request, Search, dynamic_of

_PIN = pattern(r"(nvidia-[a-z0-9-]+?)(?:-cu(\d+))?\s*\(?(?:==|<|>|~|;|$)")
_TORCH = ("libtorch_cuda.so", "libtorch_cuda_linalg.so", "libc10_cuda.so", "libtorch_hip.so", "libc10_hip.so")
_ONNXRUNTIME = tuple(f"libonnxruntime_providers_{name}.so" for name in ("cuda", "rocm", "migraphx"))
_TENSORFLOW = ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2")


def probe(machine: Machine, python: Python, framework: Framework) -> Maybe[tuple[Need, ...]]:
    """Follow the loader from the framework's own libraries.

    Args:
        machine: where they lie, in the examined environment.
        python: the environment.
        framework: what `frameworks.static` found.
    """
    if framework.variant == "cpu":
        return ()
    if isinstance(framework.variant, Unknown):
        return framework.variant
    if framework.location is None:
        return Unknown(f"no directory on sys.path contains a module {framework.name}")
    search = _search(machine, python, framework)
    requests = _REQUESTS[framework.name](search, framework)
    return search.walk(requests) if requests else Unknown("its files do not show which libraries it needs")


def _search(machine: Machine, python: Python, framework: Framework) -> Search:
    sites = [folder.rstrip("/") for folder in known_or(python.sys_path, ()) if folder.endswith("-packages")]
    own = [f"{framework.location}/lib"] if framework.name == "torch" else []
    cudnn = known_or(framework.cudnn, None)
    interpreter = known_or(python.real, python.path)
    dynamic = dynamic_of(machine, interpreter)
    origin = interpreter.rpartition("/")[0]
    entries = dynamic.rpath if dynamic and not dynamic.runpath else ()
    rpath = tuple(entry.replace("$ORIGIN", origin) for entry in entries)
    packages, folders = known_or(python.packages, ()), _cuda_folders(machine, python)
    return Search(machine, sites, packages, rpath, own, cudnn, cuda=folders)


def _cuda_folders(machine: Machine, python: Python) -> tuple[str, ...]:
    homes = [machine.env.get(name, "") for name in ("CUDA_PATH", "CUDA_HOME")]
    homes += [f"/usr/local/{name}" for name in machine.names("/usr/local") if name.startswith("cuda")]
    folders = [f"{home.rstrip('/')}/lib64" for home in homes if home.startswith("/")]
    if known_or(python.conda, None) is not None:
        folders.append(f"{known_or(python.prefix, '')}/lib")
    return tuple(dict.fromkeys(folders))


def _torch(search: Search, framework: Framework) -> list[Request]:
    files = [f"{framework.location}/lib/{name}" for name in _TORCH]
    linked = [request for path in files for request in search.of_file(path)]
    return linked or _pinned(search, framework, files[0]) or _bundled(search, framework, files[0])


def _pinned(search: Search, framework: Framework, path: str) -> list[Request]:
    """The libraries of the wheels that the metadata pins, where the files themselves do not tell."""
    package = next((p for p in search.packages if p.name == framework.distribution), None)
    cuda, cudnn = _majors(framework)
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


def _bundled(search: Search, framework: Framework, path: str) -> list[Request]:
    """The libraries in torch/lib itself, where the files do not tell, as in CUDA 11.8 wheels up to 2.0."""
    folder = f"{framework.location}/lib"
    names = [n for n in search.machine.names(folder) if sonames.library_of(n) and not n.startswith("libcudnn_")]
    order = search.order(also=(folder,))
    return [Request(name, search.short(path), order) for name in names]


def _majors(framework: Framework) -> tuple[str | None, str | None]:
    """The majors of CUDA and of cuDNN."""
    cuda, cudnn = known_or(framework.cuda, None), known_or(framework.cudnn, None)
    return (cuda.partition(".")[0] if cuda else None), (cudnn.partition(".")[0] if cudnn else None)


def _tensorflow(search: Search, framework: Framework) -> list[Request]:
    """TensorFlow opens its libraries by name; its RUNPATH leads to the wheels, so LD_LIBRARY_PATH comes before them."""
    cuda, cudnn = _majors(framework)
    if cuda is None:
        return []
    also = search.wheels if sonames.finds_wheels("tensorflow", known_or(framework.version, None) or "0") else ()
    dynamics = [dynamic_of(search.machine, f"{framework.location}/{name}") for name in _TENSORFLOW]
    own = [entry for d in dynamics if d for entry in (*d.runpath, *d.rpath) if also or "nvidia" not in entry]
    folders = [entry.replace("$ORIGIN", framework.location or "") for entry in dict.fromkeys(own)]
    order = search.order(also=(*folders, *also))
    by = f"tensorflow/{_TENSORFLOW[0]}"
    return [Request(name, by, order) for name in sonames.opened("tensorflow", cuda, cudnn)]


def _wheel(search: Search, soname: str) -> tuple[tuple[str, str], ...]:
    found = search.wheel(soname)
    return ((found, "wheel"),) if found else ()


def _cupy(search: Search, framework: Framework) -> list[Request]:
    """Before 14.0 CuPy left everything to the loader; since then cuda-pathfinder looks into the wheels first."""
    cuda, _ = _majors(framework)
    if cuda is None:
        return []
    version = known_or(framework.version, None) or "0"
    order, with_wheels = search.order(), sonames.finds_wheels("cupy", version)
    return [
        Request(
            name,
            "cupy",
            order,
            first=_wheel(search, name) if with_wheels else (),
            last=tuple((f"{folder}/{name}", "CUDA_PATH") for folder in _cuda_path(search)) if with_wheels else (),
        )
        for name in sonames.opened("cupy", cuda, None)
    ]


def _cuda_path(search: Search) -> tuple[str, ...]:
    env = search.machine.env
    home = env.get("CUDA_PATH") or env.get("CUDA_HOME") or ""
    return (f"{home}/lib64", f"{home}/lib") if home.startswith("/") else ()


def _jax(search: Search, framework: Framework) -> list[Request]:
    """Newer plugins open the wheels by path before anything else; what those link to is still the loader's choice."""
    cuda, cudnn = _majors(framework)
    plugin = next((f"{s}/jax_plugins/xla_cuda{cuda}" for s in search.sites if cuda), "")
    try:
        preloads = "_load_nvidia_libraries" in search.machine.text(f"{plugin}/__init__.py")
    except OSError:
        preloads = False
    dynamic = dynamic_of(search.machine, f"{plugin}/xla_cuda_plugin.so")
    order = search.order(dynamic, plugin, also=search.wheels)
    return [
        Request(
            name,
            f"jax_plugins/xla_cuda{cuda}",
            order,
            first=_wheel(search, name) if preloads else (),
        )
        for name in (sonames.opened("jax", cuda, cudnn or "9") if cuda else ())
    ]


def _onnxruntime(search: Search, framework: Framework) -> list[Request]:
    """ONNX Runtime links to its libraries without a RUNPATH, so the loader finds no wheel."""
    files = [f"{framework.location}/capi/{name}" for name in _ONNXRUNTIME]
    return [request for path in files for request in search.of_file(path)]


_REQUESTS = {
    "torch": _torch,
    "tensorflow": _tensorflow,
    "cupy": _cupy,
    "jax": _jax,
    "onnxruntime": _onnxruntime,
}
