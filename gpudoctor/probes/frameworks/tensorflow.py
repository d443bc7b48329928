"""What TensorFlow's files say without importing it: build_info.py holds what it was built for."""

import ast
from typing import Any

from gpudoctor.facts.framework import Framework
from gpudoctor.facts.python import Python
from gpudoctor.knowledge import sonames
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.probes.frameworks.discovery import FoundFramework, read_text
from gpudoctor.probes.frameworks.library_search import Request, Search, dynamic_of, majors

_FILES = ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2")


def read(machine: Machine, _python: Python, found: FoundFramework, _kernels: bool = False) -> Framework:
    """Read its files.

    Args:
        machine: where they lie.
        found: its place and distributions.
    """
    build = _build(machine, found)
    version = found.package.version if found.package else None
    return Framework(
        name="tensorflow",
        distribution=found.package.name if found.package else None,
        version=found.version,
        location=found.location,
        others=tuple((p.name, p.version) for p in found.others),
        cuda=_text(build, "is_cuda_build", "cuda_version"),
        hip=_text(build, "is_rocm_build", "rocm_version"),
        variant=_variant(build),
        archs=_archs(build),
        kernels=Unknown("the GPU code was not counted"),
        cudnn=_cudnn(_text(build, "is_cuda_build", "cudnn_version"), version),
        plugin=None,
        plugin_version=None,
        backend_version=None,
    )


def _build(machine: Machine, found: FoundFramework) -> dict[str, Any] | Unknown:
    if found.location is None or found.location.endswith(".py"):
        return Unknown(found.why_no_files)
    path = f"{found.location}/python/platform/build_info.py"
    text = read_text(machine, path)
    if isinstance(text, Unknown):
        return text
    return build_info(text) or Unknown(f"{path} has no build_info that could be read")


def build_info(text: str) -> dict[str, Any]:
    """The constants of build_info.py, whose OrderedDict is made from a dict or from pairs; empty where there are none.

    Args:
        text: the file.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "build_info":
            return _literal(node.value)
    return {}


def _literal(value: ast.expr) -> dict[str, Any]:
    if isinstance(value, ast.Call) and value.args:
        value = value.args[0]
    try:
        return dict(ast.literal_eval(value))
    except (TypeError, ValueError):
        return {}


def _text(build: dict[str, Any] | Unknown, condition: str, name: str) -> Maybe[str | None]:
    if isinstance(build, Unknown):
        return build
    if not build.get(condition):
        return None
    return str(build[name]) if build.get(name) else Unknown(f"build_info.py has no {name}")


def _cudnn(major: Maybe[str | None], version: str | None) -> Maybe[str | None]:
    """build_info.py names the major alone; the release's minor decides too, as cuDNN's check at run time does."""
    if not isinstance(major, str) or not version:
        return major
    from gpudoctor.knowledge.tensorflow import release

    row = release(version)
    return row.cudnn if row and row.cudnn.partition(".")[0] == major.partition(".")[0] else major


def _variant(build: dict[str, Any] | Unknown) -> Maybe[str]:
    if isinstance(build, Unknown):
        return build
    return "cuda" if build.get("is_cuda_build") else "rocm" if build.get("is_rocm_build") else "cpu"


def _archs(build: dict[str, Any] | Unknown) -> Maybe[tuple[str, ...]]:
    """Since 2.4 a list of sm_70 and compute_80; TensorFlow for the CPU has none."""
    if isinstance(build, Unknown):
        return build
    if build.get("is_rocm_build"):
        return Unknown("build_info.py does not name a ROCm build's targets")
    archs = tuple(str(name) for name in build.get("cuda_compute_capabilities") or ())
    if build.get("is_cuda_build") and not archs:
        return Unknown("build_info.py names no compute capabilities")
    return archs


def requests(search: Search, framework: Framework) -> list[Request]:
    """TensorFlow opens its libraries by name; its RUNPATH leads to the wheels, so LD_LIBRARY_PATH comes before them.

    dlopen(3) searches the RUNPATH of the object that calls it, which is libtensorflow_framework.so.2: what only that of
    libtensorflow_cc.so.2 names is not found. Where the file cannot be read, the table tells which releases find wheels.
    """
    cuda, cudnn = majors(framework)
    if cuda is None:
        return []
    also = search.wheels if sonames.finds_wheels("tensorflow", known_or(framework.version, None) or "0") else ()
    caller = dynamic_of(search.machine, f"{framework.location}/{_FILES[0]}")
    paths = (*caller.runpath, *caller.rpath) if caller else ()
    own = [entry for entry in paths if also or "nvidia" not in entry]
    if any("nvidia" in entry for entry in own):
        also = ()
    folders = [entry.replace("$ORIGIN", framework.location or "") for entry in dict.fromkeys(own)]
    order = search.order(also=(*folders, *also))
    by = f"tensorflow/{_FILES[0]}"
    return [Request(name, by, order) for name in sonames.opened("tensorflow", cuda, cudnn)]
