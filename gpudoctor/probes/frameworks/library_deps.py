"""Which libraries of CUDA, ROCm and oneAPI a framework needs, and where each would come from in this environment."""

import os
from importlib import import_module
from typing import TYPE_CHECKING

from gpudoctor.facts.framework import Framework, Need
from gpudoctor.facts.python import Python
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or

if TYPE_CHECKING:
    from gpudoctor.probes.frameworks.library_search import Request, Search


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
    module = import_module(f"gpudoctor.probes.frameworks.{framework.name}")
    requests: list[Request] = module.requests(search, framework)
    return search.walk(requests) if requests else Unknown("its files do not show which libraries it needs")


def optional(machine: Machine, python: Python, framework: Framework) -> tuple[Need, ...]:
    """What a framework loads only where a program asks for it; known of ONNX Runtime alone."""
    if framework.name != "onnxruntime" or framework.location is None:
        return ()
    from gpudoctor.probes.frameworks import onnxruntime

    return onnxruntime.optional(_search(machine, python, framework), framework)


def _search(machine: Machine, python: Python, framework: Framework) -> "Search":
    from gpudoctor.probes.frameworks.library_search import Search, dynamic_of  # builds for the processor need none

    sites = [folder.rstrip("/") for folder in known_or(python.sys_path, ()) if folder.endswith("-packages")]
    own = [f"{framework.location}/lib"] if framework.name == "torch" else []
    if framework.variant == "xpu":  # Intel's wheels put theirs into the environment's lib, where PyTorch's RPATH leads
        own.append(os.path.normpath(f"{framework.location}/../../.."))
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
