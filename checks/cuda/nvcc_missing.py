"""A package that compiles CUDA code at run time, but no nvcc."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Framework
from gpudoctor.fixes.by_message import assumed_cuda
from gpudoctor.fixes.python import conda_of, install, version_of
from gpudoctor.fixes.toolkit import devel_image, toolkit
from gpudoctor.knowledge.python_rules import CompilingEngine, python_rules
from gpudoctor.knowledge.release_families import release_families
from gpudoctor.knowledge.torch import cuda_variant
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import one_of, uses_gpu
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.loading import import_of
from gpudoctor.queries.packages import compiling, packages_of, release, starting
from gpudoctor.targets import ANY_GPU, OnPython, pythons
from gpudoctor.tasks import export, unset


def _torch(on: OnPython) -> Framework | None:
    found = one_of(on.python, "torch")
    return found if uses_gpu(found) else None


def _cuda(on: OnPython) -> str:
    """The release to build for: PyTorch's, else the driver's."""
    torch = _torch(on)
    releases = (torch.cuda if torch else None, on.facts.nvidia.cuda.version)
    return next((v for v in releases if isinstance(v, str) and "." in v), assumed_cuda())


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    wanted, (names, _) = _cuda(on), compiling(on.facts, on.python)
    fixes = [toolkit(on.facts, on.python, wanted), *devel_image(on.facts, wanted)]
    if not python_rules().nvcc.ready.keys() >= set(names):  # the others need nvcc all the same
        return tuple(fixes)
    without = (_without(row) for row in starting(on.facts, on.python))
    return (*(fix for name in names for fix in _ready(on, name, wanted)), *without, *fixes)


def _without(row: CompilingEngine) -> Fix:
    """Let a program do without what it has compiled."""
    (name, value) = next(iter(row.off.items()))
    message = f"Let {row.package} do without what {row.compiles} compiles for it, at the cost of some speed."
    return Fix(message, (export(name, value),), "change-environment", undo=(unset(name),))


def _ready(on: OnPython, name: str, cuda: str) -> tuple[Fix, ...]:
    """The prebuilt kernels of a package, where they exist for this CUDA release."""
    kernels, version = python_rules().nvcc.ready.get(name), version_of(on.python, name)
    family = next((one for one in release_families().family if kernels in one.index), None)
    variant = cuda_variant(cuda)
    if kernels is None or version is None or family is None or not family.built_for(variant):
        return ()
    message = f"Install {kernels}, which contains the prebuilt kernels, in the same version."
    index = family.index[kernels].format(variant=variant)
    command = install(on.python, f"{kernels}=={release(version)}", index=index, no_deps=True)
    return (Fix(message, (command,), "reinstall-package"),)


# What an error names where a package looks for the compiler as it is imported.
_COMPILER = ("nvcc", "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "cuda_home")


def _fails_before(on: OnPython, name: str) -> bool:
    """Whether the package's import ends in another error than that of a missing compiler: so far nothing compiles."""
    tried = import_of(on.python, name)
    error = tried.error if tried else None
    return isinstance(error, str) and not any(word in error for word in _COMPILER)


@check(
    title="nvcc is missing: a package compiles CUDA code at run time",
    severity=Severity.WARNING,
    cause="Some packages compile their operators with nvcc on import or first use (JIT). PyTorch's wheels and images "
    "tagged runtime contain the CUDA libraries but no nvcc, so CUDA_HOME is not found.",
    fixes=_fixes,
    references=(
        "https://github.com/deepspeedai/DeepSpeed/issues/2772",
        "https://github.com/flashinfer-ai/flashinfer/issues/1781",
        "https://github.com/sgl-project/sglang/issues/13468",
        "https://github.com/vllm-project/vllm/issues/49497",
        "https://github.com/smg-project/smg/pull/513",
    ),
    targets=pythons,
    only_with=(ANY_GPU,),
    caused_by=("cuda.home-stale", "pytorch.cpu-build", "pytorch.wrong-vendor"),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def nvcc_missing(on: OnPython) -> Problem | None:
    """Such a package with a CUDA build of PyTorch and a GPU, but no nvcc where build tools look."""
    if not nvidia_gpus(on.facts):
        return None
    compilers, always = compiling(on.facts, on.python)
    names = [name for name in compilers if not _fails_before(on, name)]
    if not names or not (_torch(on) or "pycuda" in names):
        return None
    home = on.facts.toolkits.home
    if known(home.nvcc) is not None or any(c.name.startswith("cuda-nvcc") for c in conda_of(on.python)):
        return None
    where = f"{home.path} has no bin/nvcc" if home.path else "there is no nvcc, and CUDA_HOME is not set"
    versions = {p.name: p.version for p in packages_of(on.python)}
    listed = " and ".join(f"{n} {versions[n]}" for n in names)
    what = "is installed and compiles CUDA code" if len(names) == 1 else "are installed and compile CUDA code"
    started = [row for row in starting(on.facts, on.python) if row.compiles in names]
    if started:
        what += f", for {started[0].package} {versions[started[0].package]} at its start"
    elif not always:
        what += " that it does not find prebuilt"
    message = f"{listed} {what}, but the CUDA compiler is missing: {where}."
    severity = None if always else Severity.ADVICE
    return Problem(message, severity=severity, breaks=tuple(names), words=_COMPILER)
