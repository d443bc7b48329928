"""The wheels of the CUDA compiler and of the CUDA headers are of different releases."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.python import install, lasting
from gpudoctor.maybe import known
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import compiling, numbers, package
from gpudoctor.targets import ANY_GPU, OnPython, pythons
from gpudoctor.tasks import query

# Since CUDA 13 these wheels share one directory, nvidia/cu13, which can be CUDA_HOME.
_NVCC, _RUNTIME = "nvidia-cuda-nvcc", "nvidia-cuda-runtime"
_OF_COMPILER = (_NVCC, "nvidia-cuda-crt", "nvidia-nvvm", "nvidia-cuda-cccl")


def _minor(one: Package) -> str:
    return ".".join(str(number) for number in numbers(one.version)[:2])


def _pair(on: OnPython) -> tuple[Package, Package] | None:
    """The wheels of compiler and headers, where both are there and of different minor releases."""
    nvcc, runtime = package(on.python, _NVCC), package(on.python, _RUNTIME)
    return (nvcc, runtime) if nvcc and runtime and _minor(nvcc) != _minor(runtime) else None


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    pair = _pair(on)
    if pair is None:
        return ()
    wanted = _minor(pair[1])
    others = [name for name in _OF_COMPILER if (one := package(on.python, name)) and _minor(one) != wanted]
    message = (
        f"Install the compiler of CUDA {wanted}, to which the headers belong: PyTorch pins them, and nothing pins the "
        f"compiler.{lasting(on.facts)}"
    )
    task = install(on.python, *(f"{name}=={wanted}.*" for name in others))
    return (Fix(message, (task,), "reinstall-package", verify=query("nvcc", "--version")),)


@check(
    title="nvcc and the CUDA headers are of different releases: kernels do not compile at run time",
    severity=Severity.WARNING,
    cause="The headers of CCCL (cuda/std, CUB, Thrust) compare the release of nvcc with that of the headers "
    "(CUDART_VERSION) and stop with 'CUDA compiler and CUDA toolkit headers are incompatible'. PyTorch requires one "
    "release of nvidia-cuda-runtime; packages that bring nvcc require any, and pip takes the newest.",
    fixes=_fixes,
    references=(
        "https://github.com/flashinfer-ai/flashinfer/issues/3493",
        "https://github.com/vllm-project/vllm/issues/44305",
        "https://github.com/NVIDIA/cccl/blob/main/libcudacxx/include/cuda/std/__cccl/cuda_toolkit.h",
    ),
    targets=pythons,
    only_with=(ANY_GPU, f"pythons.packages.name={_NVCC}"),
    caused_by=("pytorch.cpu-build", "pytorch.wrong-vendor"),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def compiler_not_of_headers(on: OnPython) -> Problem | None:
    """Both are wheels of this environment, which build tools take, and a package here compiles at run time."""
    pair = _pair(on)
    if pair is None or not nvidia_gpus(on.facts):
        return None
    names, _ = compiling(on.facts, on.python)
    home, prefix = on.facts.toolkits.home.path, known(on.python.prefix)
    if not names or home is None or not home.startswith(f"{prefix}/"):
        return None
    nvcc, runtime = pair
    message = (
        f"nvcc is of CUDA {_minor(nvcc)} ({nvcc.name} {nvcc.version}), but the headers in {home} are of CUDA "
        f"{_minor(runtime)} ({runtime.name} {runtime.version}): what {names[0]} compiles at run time is refused."
    )
    return Problem(message)
