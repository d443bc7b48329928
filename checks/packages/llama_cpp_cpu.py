"""llama-cpp-python built without CUDA, on a machine with an NVIDIA GPU."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge.python_rules import runs_language_models
from gpudoctor.maybe import known_or
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import package, packages_of
from gpudoctor.targets import OnPython, gpu_name, pythons

_BASE = "libggml-base.so"
_OTHER = "LLAMA_CPP_LIB_PATH"  # names a directory with another build of the library
_BACKENDS = ("libggml-cuda", "libggml-vulkan", "libggml-hip", "libggml-sycl", "libggml-opencl", "libggml-rpc")


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    proof = verify(on.python, "import llama_cpp; print(llama_cpp.llama_supports_gpu_offload())")
    options = ("--no-cache-dir", "--no-binary", "llama-cpp-python")
    build = install(on.python, "llama-cpp-python", force=True, no_deps=True, options=options)
    nvcc = "" if on.facts.toolkits.home.nvcc else " This needs nvcc (CUDA Toolkit), which is not installed."
    message = f"Rebuild it with CUDA: without CMAKE_ARGS pip builds it for the CPU.{nvcc}{lasting(on.facts)}"
    index = "https://abetlen.github.io/llama-cpp-python/whl/cu124"
    wheel = install(on.python, "llama-cpp-python", index=index, force=True, no_deps=True)
    ready = "Install a prebuilt wheel from its author's index: for CUDA 12.1 to 12.5, and older releases."
    return (
        Fix(
            message,
            (msgspec.structs.replace(build, env=(("CMAKE_ARGS", "-DGGML_CUDA=on"),)),),
            "reinstall-package",
            verify=proof,
        ),
        Fix(ready, (wheel,), "reinstall-package", verify=proof),
    )


@check(
    title="llama-cpp-python is a CPU build on a machine with a GPU",
    severity=Severity.WARNING,
    cause="PyPI has only its source, and pip builds it for the CPU unless CMAKE_ARGS enables CUDA; n_gpu_layers is "
    "then silently ignored.",
    fixes=_fixes,
    references=(
        "https://llama-cpp-python.readthedocs.io/en/latest/",
        "https://github.com/abetlen/llama-cpp-python/issues/1535",
        "https://github.com/abetlen/llama-cpp-python/issues/514",
    ),
    targets=pythons,
    only_with=("pythons.packages.name=llama-cpp-python",),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def llama_cpp_cpu(on: OnPython) -> Problem | None:
    """The ggml library is split into parts, none for a GPU; older releases are one library, which shows nothing."""
    found, gpus = package(on.python, "llama-cpp-python"), nvidia_gpus(on.facts)
    if found is None or not gpus or _BASE not in found.libraries:
        return None
    if any(name.startswith(_BACKENDS) for name in found.libraries) or _OTHER in on.facts.host.environment:
        return None
    message = (
        f"llama-cpp-python {found.version} has no libggml-cuda.so: it runs on the CPU and does not use "
        f"{gpu_name(gpus[0])}."
    )
    return Problem(message, severity=Severity.ADVICE if _may_leave_gpu(on) else None)


def _may_leave_gpu(on: OnPython) -> bool:
    """Whether another engine of language models takes the GPU; PyTorch next to it is there for much else."""
    engine = any(runs_language_models(p.name) for p in packages_of(on.python))
    return engine or "cuda" in known_or(on.facts.ollama.backends, ())
