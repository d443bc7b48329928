"""TensorFlow without code for a GPU's compute capability."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Gpu
from gpudoctor.fixes.frameworks import newer_tensorflow, tensorflow_image, tensorflow_verify
from gpudoctor.fixes.python import install, python_minor
from gpudoctor.knowledge import tensorflow
from gpudoctor.maybe import known, present, text_of
from gpudoctor.queries.capability import compiled_for, covers, gpu_words, severity_of, side, words
from gpudoctor.queries.gpus import visible_gpus
from gpudoctor.targets import OnFramework, tensorflows


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    gpu, _ = _worst(on)
    capability = text_of(gpu.capability) if gpu else ""
    if side(_archs(on), capability) == "older":
        return _older_release(on, capability)
    source = Fix(
        "Build TensorFlow from source for this compute capability: "
        "https://www.tensorflow.org/install/source#gpu (HERMETIC_CUDA_COMPUTE_CAPABILITIES).",
    )
    return (*newer_tensorflow(on.facts, on.python), tensorflow_image(), source)


def _older_release(on: OnFramework, capability: str) -> tuple[Fix, ...]:
    """An old GPU needs the last release that was compiled for it."""
    for row in reversed(tensorflow.tensorflow().release):
        minor = python_minor(on.python)
        fits = minor is None or row.python[0] <= minor
        if row.and_cuda and fits and tensorflow.kernels_for(row.version, capability) == "machine code":
            command = install(on.python, f"tensorflow[and-cuda]=={row.version}.*")
            message = f"Install TensorFlow {row.version}, the last release with code for this GPU."
            return (Fix(message, (command,), "reinstall-package", verify=tensorflow_verify(on.python)),)
    return (Fix("Build TensorFlow from source for this compute capability, or use another GPU."),)


def _archs(on: OnFramework) -> tuple[str, ...]:
    live = on.framework.live
    return compiled_for(on.framework.archs, live.archs if live else ())


def _worst(on: OnFramework) -> tuple[Gpu | None, str | None]:
    """The GPU that is served worst, and how: None without any code, "ptx" compiled by the driver at first use."""
    archs = _archs(on)
    gpus = [g for g in visible_gpus(on.facts) if isinstance(g.capability, str)]
    served = [(g, covers(archs, text_of(g.capability), both=True)) for g in gpus]
    ill = [pair for pair in served if pair[1] != "machine code"]
    return min(ill, key=lambda pair: pair[1] or "", default=(None, None))


@check(
    title="TensorFlow has no code for this GPU's compute capability",
    severity=Severity.ERROR,
    cause="GPU code runs only within the major compute capability that it was compiled for. For newer GPUs TensorFlow "
    "has only PTX, which the driver has to compile (JIT), and on Blackwell that fails with CUDA_ERROR_INVALID_PTX or "
    "CUDA_ERROR_INVALID_HANDLE.",
    fixes=_fixes,
    references=(
        "https://github.com/tensorflow/tensorflow/issues/89272",
        "https://github.com/tensorflow/tensorflow/issues/97387",
        "https://github.com/tensorflow/tensorflow/issues/101746",
    ),
    targets=tensorflows,
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def arch_missing(on: OnFramework) -> Problem | None:
    """Nothing in the build runs on the GPU, or only PTX that is known to fail there."""
    if known(on.framework.variant) != "cuda" or not visible_gpus(on.facts):
        return None
    known(visible_gpus(on.facts)[0].capability)
    gpu, how = _worst(on)
    if gpu is None:
        return None
    archs, capability = _archs(on), present(gpu.capability)
    evidence = (f"compiled for: {' '.join(archs)}",)
    if how == "ptx" and not tensorflow.ptx_fails(capability):
        message = f"{on.name} has only PTX for {gpu_words(gpu)}: the first run compiles it, for up to half an hour."
        return Problem(message, evidence, severity=Severity.ADVICE, fixes=newer_tensorflow(on.facts, on.python))
    message = f"{on.name} has no kernels for {gpu_words(gpu)}: {words(archs, capability)}."
    return Problem(message, evidence, severity=severity_of(on.facts))
