"""A package generates PTX that is newer than the driver supports."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check, names
from gpudoctor.fixes import driver
from gpudoctor.fixes.python import conda_install, conda_of, install, lasting
from gpudoctor.knowledge import drivers
from gpudoctor.knowledge.python_rules import RunTimePtx, python_rules
from gpudoctor.maybe import known, known_or, phrase, present
from gpudoctor.queries.cause_groups import CUDA_SYSTEM
from gpudoctor.queries.driver import driver_cuda, driver_words
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import compiles_ptx, numbers, packages_of, wheels
from gpudoctor.targets import ANY_GPU, OnPython, in_container, on_wsl, pythons
from gpudoctor.tasks import Task, export, query

# conda's packages with libNVVM, in the order in which they are asked for their release; Numba looks there first.
CONDA = ("cuda-nvvm-impl", "cuda-nvvm-tools", "cuda-nvvm", "cuda-nvcc-impl", "cuda-nvcc", "cudatoolkit")


class _Compiler(msgspec.Struct, frozen=True):
    """Who compiles at run time, with which compiler of which package, and that one's CUDA release."""

    user: str  # "numba-cuda 0.18.1"
    what: str  # NVVM, NVRTC
    place: str
    cuda: str
    row: RunTimePtx | None = None  # None: it is Numba


def _compilers(on: OnPython) -> list[_Compiler]:
    names = {p.name: p.version for p in packages_of(on.python)}
    numba = next((n for n in ("numba-cuda", "numba") if n in names), None)
    linked = any(n.startswith("pynvjitlink") for n in names) or _links_with_nvjitlink(on, names)
    found = _nvvm(on) if numba and not linked else None
    ours = [_Compiler(f"{numba} {names[numba]}", "NVVM", *found)] if numba and found else []
    users = ((row, one, _nvrtc(on, one.name)) for row, one in compiles_ptx(on.python))
    return ours + [_Compiler(f"{p.name} {p.version}", "NVRTC", *nvrtc, row) for row, p, nvrtc in users if nvrtc]


# numba_cuda/numba/cuda/cudadrv/driver.py of the wheels 0.15 and 0.16: from then on cuda.core links, by nvJitLink where
# that is installed, and the driver gets machine code. Without the bindings the driver itself links, from PTX.
_BY_CUDA_CORE = (0, 16)
_BINDING = "NUMBA_CUDA_USE_NVIDIA_BINDING"


def _links_with_nvjitlink(on: OnPython, names: dict[str, str]) -> bool:
    own, theirs = numbers(names.get("numba-cuda", ""))[:2], numbers(known_or(driver_cuda(on.facts), None) or "")[:1]
    # Machine code of a newer major needs that major's driver.
    linker = any(numbers(one.version)[:1] == theirs for one in wheels(on.python, "nvjitlink"))
    parts = linker and "cuda-core" in names and "cuda-bindings" in names
    return own >= _BY_CUDA_CORE and parts and on.facts.host.environment.get(_BINDING) != "0"


def _nvrtc(on: OnPython, user: str) -> tuple[str, str] | None:
    """The package with NVRTC, and its CUDA release: conda's, else the wheel of the CUDA that a package is named for."""
    names = ("cuda-nvrtc", "cudatoolkit")
    conda = next((c for c in conda_of(on.python) if c.name in names and numbers(c.version)), None)
    if conda:
        return f"conda's {conda.name}", conda.version
    major = user.rpartition("-")[2]
    found = [p for p in wheels(on.python, "cuda-nvrtc") if not major.isdigit() or p.version.startswith(f"{major}.")]
    return (found[0].name, found[0].version) if found else None


def _nvvm(on: OnPython) -> tuple[str, str] | None:
    """The package with the NVVM that Numba uses, and its CUDA release: conda's, CUDA_HOME's, a wheel's."""
    conda = next((c for name in CONDA for c in conda_of(on.python) if c.name == name and numbers(c.version)), None)
    if conda:
        return f"conda's {conda.name}", conda.version
    home = on.facts.toolkits.home
    if home.found_by == "CUDA_HOME" and isinstance(home.nvcc, str):
        return f"CUDA_HOME{phrase(' ({})', home.path)}", home.nvcc
    found = next(iter(wheels(on.python, "cuda-nvcc")), None)
    if found:
        return found.name, found.version
    return (str(home.path), home.nvcc) if home.path and isinstance(home.nvcc, str) else None


def _others(on: OnPython) -> bool:
    """Whether JAX or TensorFlow installed the compiler, for its ptxas, which does not need such a driver."""
    return any(f.name in ("jax", "tensorflow") for f in on.python.frameworks)


def _newer(on: OnPython) -> _Compiler | None:
    """The first compiler whose PTX is newer than the driver's CUDA."""
    found = _compilers(on)
    theirs = numbers(known(driver_cuda(on.facts)) or "")[:2] if found else ()
    return next((one for one in found if theirs and numbers(one.cuda)[:2] > theirs), None)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found, cuda = _newer(on), known(driver_cuda(on.facts)) or ""
    if found and found.row:
        return (_older_nvrtc(on, found, found.row, cuda), *_drivers(on, (found.place, found.cuda), cuda))
    compiler = (found.place, found.cuda) if found else None
    fixes = []
    if compiler and compiler[0].startswith("conda's"):
        message = f"Install the compiler of the driver's CUDA release, {cuda}, into this conda environment."
        command = conda_install(on.python, f"cuda-version={cuda}")
        return (Fix(message, (command,), "reinstall-package"), *_drivers(on, compiler, cuda))
    if compiler and numbers(compiler[1])[:1] != numbers(cuda)[:1]:
        message = f"Install numba-cuda with its extra for the driver's major version, CUDA {cuda.partition('.')[0]}."
        command = install(on.python, f"numba-cuda[cu{cuda.partition('.')[0]}]")
        return (Fix(message, (command,), "reinstall-package"), *_drivers(on, compiler, cuda))
    if compiler and compiler[0].startswith("nvidia-"):
        specs = [f"{p.name}=={cuda}.*" for p in (*wheels(on.python, "cuda-nvcc"),)]
        message = f"Install the compiler of the driver's CUDA release, {cuda}."
        fixes.append(Fix(message, (install(on.python, *specs),), "reinstall-package"))
    suffix = cuda.partition(".")[0]
    message = (
        "Make Numba link kernels with nvJitLink, which then no longer depends on the driver's release (minor-version "
        "compatibility)."
    )
    commands = (install(on.python, f"pynvjitlink-cu{suffix}"), export("NUMBA_CUDA_ENABLE_PYNVJITLINK", "1"))
    fixes.append(Fix(message, commands, "reinstall-package"))
    return (*fixes, *_drivers(on, compiler, cuda))


def _older_nvrtc(on: OnPython, found: _Compiler, row: RunTimePtx, cuda: str) -> Fix:
    """NVRTC of the driver's CUDA release, which serves PyTorch too: both load it by the name of its major."""
    proof: Task | None = query(on.python.path, "-m", row.proof) if row.proof else None
    message = f"Install the NVRTC of the driver's CUDA release, {cuda}."
    if found.place.startswith("conda's"):
        command = conda_install(on.python, f"cuda-version={cuda}")
        return Fix(f"{message}{lasting(on.facts)}", (command,), "reinstall-package", verify=proof)
    pinning = next((p for p in packages_of(on.python) if any(_pins(line, found.place) for line in p.requires)), None)
    if pinning:
        message += (
            f" pip reports a conflict with {pinning.name}, which pins {found.cuda}, and installs it: {pinning.name} "
            "compiles with it as well."
        )
    major = numbers(found.cuda)[0]
    if numbers(cuda)[:1] != (major,):  # no wheel of this name is older than its major
        message = f"Install the build of {row.title} for CUDA {cuda.partition('.')[0]}, with its NVRTC for {cuda}."
        return Fix(f"{message}{lasting(on.facts)}", (), "reinstall-package", verify=proof)
    command = install(on.python, f"{found.place}=={cuda}.*")
    return Fix(f"{message}{lasting(on.facts)}", (command,), "reinstall-package", verify=proof)


def _pins(line: str, name: str) -> bool:
    return line.replace(" ", "").startswith(f"{name}==") and "extra" not in line


def _drivers(on: OnPython, compiler: tuple[str, str] | None, cuda: str) -> tuple[Fix, ...]:
    """A driver for the compiler's release, where it can be changed from here."""
    branch = next((b for b in sorted(drivers.drivers().branch) if _runs(b, compiler[1] if compiler else cuda)), None)
    if branch is None or on_wsl(on.facts) or in_container(on.facts):
        return ()
    best = driver.best_branch(on.facts, at_least=branch)
    if best is None:
        return ()
    return (driver.install_driver(on.facts, best, message=f"Update the driver to branch {best}, then reboot."),)


def _runs(branch: int, cuda: str) -> bool:
    return numbers(drivers.cuda_of_branch(branch) or "0")[:2] >= numbers(cuda)[:2]


@check(
    title="PTX that a package generates is too new for the driver (CUDA_ERROR_UNSUPPORTED_PTX_VERSION)",
    severity=Severity.WARNING,
    cause="A driver can compile PTX of its own CUDA release and older ones; minor-version compatibility covers "
    "machine code (SASS), not PTX. What a package compiles to PTX when it runs then fails with "
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222), while PyTorch, which ships machine code, works.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
        "https://github.com/numba/numba/issues/7006",
        "https://github.com/openmm/openmm/issues/3585",
    ),
    targets=pythons,
    only_with=(
        ANY_GPU,
        f"pythons.packages.name=numba,numba-cuda,{names(row.package for row in python_rules().run_time_ptx)}",
    ),
    caused_by=(*CUDA_SYSTEM, "python.*", "pytorch.driver-too-old", "jax.driver-too-old"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def ptx_too_new(on: OnPython) -> Problem | None:
    """NVVM or NVRTC is from a newer CUDA release than the driver."""
    if not nvidia_gpus(on.facts):
        return None
    found = _newer(on)
    if found is None:
        return None
    who = found.user if found.row is None else f"{found.row.title} ({found.user})"
    message = (
        f"{who} compiles with {found.what} of CUDA {found.cuda} ({found.place}); the "
        f"{driver_words(on.facts)} supports PTX up to CUDA {present(known(driver_cuda(on.facts)))}."
    )
    # Else Numba may be there only for the CPU.
    sure = found.row or found.user.startswith("numba-cuda") or not on.python.frameworks
    sure = sure or (found.place.startswith("nvidia-") and not _others(on))
    return Problem(message, severity=None if sure else Severity.ADVICE)
