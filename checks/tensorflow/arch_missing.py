"""TensorFlow without code for a GPU's compute capability."""

from gpudoctor.check_engine import Fix, Problem, Severity
from gpudoctor.checks.tensorflow import TENSORFLOW
from gpudoctor.facts import Gpu
from gpudoctor.families import builds
from gpudoctor.families.builds import GpuCode
from gpudoctor.fixes.frameworks import newer_tensorflow, tensorflow_image, tensorflow_verify
from gpudoctor.fixes.python import install
from gpudoctor.knowledge import tensorflow
from gpudoctor.maybe import known, present
from gpudoctor.queries.capability import compiled_for, covers, gpu_words, side
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.queries.packages import python_minor
from gpudoctor.targets import OnFramework


def _code(on: OnFramework) -> GpuCode | None:
    """What the build was compiled for; PTX that is known to fail on a GPU is no code for it."""
    if known(on.framework.variant) != "cuda" or not visible_gpus(on.facts):
        return None
    live = on.framework.live
    archs = compiled_for(on.framework.archs, live.archs if live else ())

    def runs(capability: str) -> bool:
        how = covers(archs, capability, both=True)
        return how is not None and not (how == "ptx" and tensorflow.ptx_fails(capability))

    return GpuCode.compiled_for(archs, runs)


def _slow_start(on: OnFramework, code: GpuCode) -> Problem | None:
    """The first GPU for which there is only PTX, which the driver compiles at the first run."""
    for gpu in visible_gpus(on.facts):
        if covers(code.archs, present(gpu.capability), both=True) == "ptx":
            message = f"{on.name} has only PTX for {gpu_words(gpu)}: the first run compiles it, for up to half an hour."
            evidence = (f"compiled for: {' '.join(code.archs)}",)
            return Problem(message, evidence, severity=Severity.ADVICE, fixes=newer_tensorflow(on.facts, on.python))
    return None


def _fixes(on: OnFramework, code: GpuCode, gpu: Gpu) -> tuple[Fix, ...]:
    capability = present(gpu.capability)
    if side(code.archs, capability) == "older":
        return _older_release(on, capability)
    source = Fix(
        "Build TensorFlow from source for this compute capability: "
        "https://www.tensorflow.org/install/source#gpu (HERMETIC_CUDA_COMPUTE_CAPABILITIES).",
    )
    return (*newer_tensorflow(on.facts, on.python), tensorflow_image(), source)


def _older_release(on: OnFramework, capability: str) -> tuple[Fix, ...]:
    """An old GPU needs the last release that was compiled for it."""
    for row in reversed(tensorflow.tensorflow().release):
        fits = row.finds_gpu and row.installs_on(python_minor(on.python))
        if fits and tensorflow.kernels_for(row.version, capability) == "machine code":
            command = install(on.python, f"tensorflow[and-cuda]=={row.version}.*")
            message = f"Install TensorFlow {row.version}, the last release with code for this GPU."
            return (Fix(message, (command,), "reinstall-package", verify=tensorflow_verify(on.python)),)
    return (Fix("Build TensorFlow from source for this compute capability, or use another GPU."),)


arch_missing = builds.arch_missing(
    TENSORFLOW,
    __name__,
    code=_code,
    fixes=_fixes,
    otherwise=_slow_start,
    cause="GPU code runs only within the major compute capability that it was compiled for. For newer GPUs TensorFlow "
    "has only PTX, which the driver has to compile (JIT), and on Blackwell that fails with CUDA_ERROR_INVALID_PTX or "
    "CUDA_ERROR_INVALID_HANDLE.",
    references=(
        "https://github.com/tensorflow/tensorflow/issues/89272",
        "https://github.com/tensorflow/tensorflow/issues/97387",
        "https://github.com/tensorflow/tensorflow/issues/101746",
    ),
    caused_by=("python.*",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
