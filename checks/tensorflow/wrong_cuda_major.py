"""TensorFlow for one CUDA major next to the libraries of another."""

from gpudoctor.check_engine import Fix
from gpudoctor.checks.tensorflow import TENSORFLOW
from gpudoctor.families import builds
from gpudoctor.fixes.environment import own_environment
from gpudoctor.fixes.frameworks import newer_tensorflow, tensorflow_with_cuda
from gpudoctor.maybe import text_of
from gpudoctor.queries.frameworks import uses_gpu
from gpudoctor.queries.libraries import family
from gpudoctor.queries.tensorflow import missing, severity_of, words_of_dlopen
from gpudoctor.targets import OnFramework

_CUDNN = (
    "cuDNN's major version is part of its file name. TensorFlow up to 2.17 is built with cuDNN 8, from 2.18 on with 9; "
    "another framework brought the other major, and one environment holds only one of them."
)


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    version = text_of(on.framework.version) or None
    if all(family(need.soname) == "libcudnn" for need in missing(on)) and _is_shared(on):
        # Its cuDNN would take away the one that another framework here needs.
        spec = f"tensorflow[and-cuda]=={version}" if version else "tensorflow[and-cuda]"
        message = "Keep this TensorFlow in an environment of its own, with its own cuDNN."
        own = Fix(message, own_environment(on.python, spec), "reinstall-package")
        return (*newer_tensorflow(on.facts, on.python), own)
    return tensorflow_with_cuda(on.facts, on.python, version) or newer_tensorflow(on.facts, on.python)


def _is_shared(on: OnFramework) -> bool:
    """Whether another framework here uses the GPU, and so the installed cuDNN."""
    return any(uses_gpu(other) for other in on.python.frameworks if other.name != on.framework.name)


wrong_cuda_major = builds.wrong_cuda_major(
    TENSORFLOW,
    __name__,
    missing=missing,
    causes=("tensorflow.driver-too-old",),
    evidence=words_of_dlopen,
    cause_of=lambda soname: _CUDNN if soname.startswith("libcudnn") else None,
    severity_of=severity_of,
    cause="TensorFlow opens libraries by names that carry CUDA's major version; those of another major do not match, "
    "and symbolic links under another name make it crash. The driver is not the cause.",
    fixes=_fixes,
    references=(
        "https://www.tensorflow.org/install/source#gpu",
        "https://github.com/tensorflow/tensorflow/issues/61689",
    ),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
