"""Numba generates PTX that is newer than the driver supports."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes import driver
from gpudoctor.fixes.python import conda_install, conda_of, install
from gpudoctor.knowledge import drivers
from gpudoctor.maybe import known, phrase, present
from gpudoctor.queries.cause_groups import CUDA_SYSTEM
from gpudoctor.queries.driver import driver_cuda, driver_words
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import numbers, packages_of, wheels
from gpudoctor.targets import ANY_GPU, OnPython, in_container, on_wsl, pythons
from gpudoctor.tasks import export

# conda's packages with libNVVM, in the order in which they are asked for their release; Numba looks there first.
CONDA = ("cuda-nvvm-impl", "cuda-nvvm-tools", "cuda-nvvm", "cuda-nvcc-impl", "cuda-nvcc", "cudatoolkit")


def _compiler(on: OnPython) -> tuple[str, str] | None:
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


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    compiler, cuda = _compiler(on), known(driver_cuda(on.facts)) or ""
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
    title="Numba generates PTX that is too new for the driver",
    severity=Severity.WARNING,
    cause="A driver can compile PTX of its own CUDA release and older ones; minor-version compatibility covers "
    "machine code (SASS), not PTX. Numba then fails with CUDA_ERROR_UNSUPPORTED_PTX_VERSION, while PyTorch works.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
        "https://github.com/numba/numba/issues/7006",
    ),
    targets=pythons,
    only_with=(ANY_GPU, "pythons.packages.name=numba,numba-cuda"),
    caused_by=(*CUDA_SYSTEM, "python.*", "pytorch.driver-too-old", "jax.driver-too-old"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def ptx_too_new(on: OnPython) -> Problem | None:
    """NVVM is from a newer CUDA release than the driver."""
    names = {p.name: p.version for p in packages_of(on.python)}
    numba = next((n for n in ("numba-cuda", "numba") if n in names), None)
    compiler = _compiler(on)
    if (
        numba is None
        or compiler is None
        or not nvidia_gpus(on.facts)
        or any(n.startswith("pynvjitlink") for n in names)
    ):
        return None
    driver_release = known(driver_cuda(on.facts))
    ours, theirs = numbers(compiler[1])[:2], numbers(driver_release or "")[:2]
    if not theirs or ours <= theirs:
        return None
    message = (
        f"{numba} {names[numba]} compiles with NVVM of CUDA {compiler[1]} ({compiler[0]}); the "
        f"{driver_words(on.facts)} supports PTX up to CUDA {present(driver_release)}."
    )
    sure = numba == "numba-cuda" or not on.python.frameworks  # else Numba may be there only for the CPU
    sure = sure or (compiler[0].startswith("nvidia-") and not _others(on))
    return Problem(message, severity=None if sure else Severity.ADVICE)
