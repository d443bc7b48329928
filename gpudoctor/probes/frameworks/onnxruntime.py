"""What ONNX Runtime's files say without importing it: its package and the CUDA that it was built with."""

from gpudoctor.facts.framework import Framework, Need
from gpudoctor.facts.python import Package, Python
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.parsers import loader
from gpudoctor.probes.frameworks.discovery import FoundFramework, assignments, read_text
from gpudoctor.probes.frameworks.library_search import Request, Search, dynamic_of, gpu_code

# Other packages of ONNX Runtime are for the CPU, or for GPUs by other ways than CUDA and ROCm.
_CUDA = ("onnxruntime-gpu", "ort-nightly-gpu", "onnxruntime-training")
_ROCM = ("onnxruntime-rocm", "onnxruntime-migraphx", "ort-migraphx", "ort-rocm")
_FILES = tuple(f"libonnxruntime_providers_{name}.so" for name in ("cuda", "rocm", "migraphx"))


def read(machine: Machine, _python: Python, found: FoundFramework, kernels: bool = False) -> Framework:
    """Read its files.

    Args:
        machine: where they lie.
        found: its place and distributions.
        kernels: count the GPU code of the CUDA provider as well.
    """
    said = _said(machine, found)
    package, others = _owner(found, said.get("package_name"))
    name = said.get("package_name") or (package.name if package else "")
    cuda, hip = _cuda(name, said, package), _hip(name, said)
    variant = "rocm" if hip is not None else "cpu" if cuda is None else "cuda"
    return Framework(
        name="onnxruntime",
        distribution=package.name if package else None,
        version=said.get("__version__") or (package.version if package else found.version),
        location=found.location,
        others=tuple((p.name, p.version) for p in others),
        cuda=cuda,
        hip=hip,
        variant=variant,
        archs=() if variant == "cpu" else Unknown("ONNX Runtime does not list them"),
        kernels=() if variant == "cpu" else gpu_code(machine, f"{found.location}/capi/{_FILES[0]}", kernels),
        cudnn=_cudnn(said, package) if variant == "cuda" else None,
        plugin=None,
        plugin_version=None,
        backend_version=None,
    )


def _said(machine: Machine, found: FoundFramework) -> dict[str, str | None]:
    if found.location is None:
        return {}
    text = read_text(machine, f"{found.location}/capi/build_and_package_info.py")
    return {} if isinstance(text, Unknown) else assignments(text)


def _owner(found: FoundFramework, name: str | None) -> tuple[Package | None, tuple[Package, ...]]:
    """Several distributions write one folder; the one that wrote it last has signed build_and_package_info.py."""
    everyone = [p for p in (found.package, *found.others) if p]
    everyone.sort(key=lambda p: p.name != (name or "").replace("_", "-").lower())
    return (everyone[0] if everyone else None), tuple(everyone[1:])


def _cuda(name: str, said: dict[str, str | None], package: Package | None) -> Maybe[str | None]:
    if said.get("cuda_version"):
        return said["cuda_version"]
    if not name.startswith(_CUDA):
        return None
    return _release(said, package, "cuda")


def _cudnn(said: dict[str, str | None], package: Package | None) -> Maybe[str | None]:
    return _release(said, package, "cudnn")


def _release(said: dict[str, str | None], package: Package | None, what: str) -> Maybe[str | None]:
    """What the table of releases has for this version."""
    from gpudoctor.knowledge import onnxruntime

    version = said.get("__version__") or (package.version if package else "")
    row = onnxruntime.release(version or "")
    found: str | None = getattr(row, what) if row else None
    return found or Unknown(f"no table shows for which {what} ONNX Runtime {version} was built")


def _hip(name: str, said: dict[str, str | None]) -> Maybe[str | None]:
    if said.get("rocm_version"):
        return said["rocm_version"]
    return Unknown("its files do not say for which ROCm it was built") if name.startswith(_ROCM) else None


def optional(search: Search, framework: Framework) -> tuple[Need, ...]:
    """What further providers link to, which it loads only where a program asks for them."""
    from gpudoctor.knowledge.onnxruntime import onnxruntime

    needs = []
    for row in onnxruntime().provider:
        folder = f"{framework.location}/capi"
        dynamic = dynamic_of(search.machine, f"{folder}/{row.file}")
        order = search.order(dynamic, folder)
        for name in (n for n in (dynamic.needed if dynamic else ()) if n.startswith(row.libraries)):
            found = loader.resolve(name, order, search.machine.exists)
            places = (f"{site}/{row.folder}/{name}" for site in search.sites)
            wheel = next((place for place in places if search.machine.exists(place)), None)
            path, how = (found.path, found.why) if found else (None, "")
            needs.append(Need(soname=name, needed_by=row.file, path=path, how=how, wheel=wheel))
    return tuple(needs)


def requests(search: Search, framework: Framework) -> list[Request]:
    """ONNX Runtime links to its libraries without a RUNPATH, so the loader finds no wheel."""
    files = [f"{framework.location}/capi/{name}" for name in _FILES]
    return [request for path in files for request in search.of_file(path)]
