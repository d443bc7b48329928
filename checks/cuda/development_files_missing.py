"""An nvcc without headers and libraries that a package compiles against at run time."""

from collections.abc import Iterator

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Gpu
from gpudoctor.fixes import system
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.python import conda_install, conda_of, lasting
from gpudoctor.fixes.toolkit import add_repository, new_toolkit
from gpudoctor.knowledge.toolkits import DevelopmentPart, toolkits
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known, present
from gpudoctor.queries.frameworks import one_of, uses_gpu
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import compiling, may_compile, numbers, packages_of
from gpudoctor.targets import ANY_GPU, OnPython, gpus_of, pythons
from gpudoctor.tasks import cmd, query

_WHEELS = pattern(r"/(?:site|dist)-packages/nvidia/cu\d+$")  # which CUDA_HOME may name since CUDA 13


def _found(on: OnPython) -> Iterator[tuple[DevelopmentPart, str, tuple[str, ...]]]:
    """The parts that packages here compile against, each with such a package and the files that are missing."""
    names = sorted({*may_compile(on.python), *compiling(on.facts, on.python)[0]})
    for part in toolkits().development:
        user = next((name for name in names if name in part.used_by), None)
        missing = [f for f in known(on.facts.toolkits.home.lacks) if f in (part.header, part.library)] if user else []
        if user and missing and any(_compiles_for(gpu, part) for gpu in gpus_of(on.facts, "nvidia")):
            yield part, user, tuple(missing)


def _compiles_for(gpu: Gpu, part: DevelopmentPart) -> bool:
    capability = known(gpu.capability)
    return capability is not None and numbers(capability) >= numbers(part.capability)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    part, _, missing = next(_found(on))
    home = on.facts.toolkits.home
    release, path = known(home.nvcc) or "", present(home.path)
    files = (f"include/{part.header}", *((f"lib64/{part.library}",) if part.library else ()))
    proof = query("ls", "-l", *(f"{path}/{file}" for file in files))
    if conda_of(on.python) and path == on.python.prefix:
        message = f"Install the {part.name} headers into the conda environment."
        task = conda_install(on.python, part.conda, f"cuda-version={release}")
        return (Fix(message, (task,), "reinstall-package", verify=proof),)
    if _WHEELS.search(path) and part.header not in missing:
        return (_linked(path, part.library, release), new_toolkit(on.facts, on.python, release))
    name = part.package.get(system.family_of(on.facts) or "")
    if not name or not path.startswith("/usr/local/cuda"):
        return (new_toolkit(on.facts, on.python, release),)
    package = name.format(release=release.replace(".", "-"))
    message = f"Install {package} from NVIDIA's repository, which this toolkit came from.{lasting(on.facts)}"
    added = add_repository(on.facts)  # it ends with apt-get update
    tasks = (*added, *system.install(on.facts, package)) if added else install_system(on.facts, package)
    return (Fix(message, tasks, "reinstall-package", root=True, verify=proof),)


def _linked(path: str, library: str, release: str) -> Fix:
    """Give the linker the names that it looks for: NVIDIA's wheels have libraries in lib, by their versions alone."""
    versioned = f"{library}.{release.partition('.')[0]}"
    tasks = (
        cmd("ln", "-sfn", "lib", f"{path}/lib64"),
        cmd("ln", "-sf", versioned, f"{path}/lib/{library}"),
    )
    return Fix(
        f"Create the names that builds link with, lib64 and {library}: NVIDIA's wheels have lib/{versioned} alone.",
        tasks,
        "change-environment",
        undo=(cmd("rm", f"{path}/lib64", f"{path}/lib/{library}"),),
        verify=query("ls", "-l", f"{path}/lib64/{library}"),
    )


@check(
    title="CUDA headers or link libraries missing: kernels do not compile (nvrtc.h, -lnvrtc, -lcudart)",
    severity=Severity.WARNING,
    cause="NVIDIA's repository splits the toolkit into packages: nvcc alone compiles, but a package that compiles "
    "kernels at run time also needs the headers and the unversioned library of what it links to. Wheels contain "
    "only the library with its version (libnvrtc.so.13).",
    fixes=_fixes,
    references=(
        "https://github.com/mudler/LocalAI/pull/10257",
        "https://github.com/marin-community/marin/pull/8502",
        "https://github.com/flashinfer-ai/flashinfer/issues/5064",
    ),
    targets=pythons,
    only_with=(ANY_GPU, "pythons.frameworks.name=torch"),
    caused_by=("cuda.home-stale", "cuda.nvcc-too-old", "pytorch.cpu-build", "pytorch.wrong-vendor"),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def development_files_missing(on: OnPython) -> Problem | None:
    """Such a package, a CUDA build of PyTorch and a GPU, and a toolkit with nvcc but without the files."""
    if not nvidia_gpus(on.facts) or not uses_gpu(one_of(on.python, "torch")):
        return None
    part, user, missing = next(_found(on), (None, "", ()))
    if part is None or not known(on.facts.toolkits.home.nvcc):
        return None
    version = next(p.version for p in packages_of(on.python) if p.name == user)
    path, files = present(on.facts.toolkits.home.path), " and ".join(missing)
    message = f"{user} {version} compiles kernels with {path}, which lacks {files}: {part.fails} fail to build."
    return Problem(message, tuple(f"{path}: no {name}" for name in missing))
