"""TensorFlow for one CUDA major beside the libraries of another."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.environment import own_environment
from gpudoctor.fixes.frameworks import newer_tensorflow, tensorflow_with_cuda
from gpudoctor.maybe import phrase
from gpudoctor.queries.libraries import family, other_majors
from gpudoctor.queries.tensorflow import cuda_of, in_wheels, missing, severity_of, words_of_dlopen
from gpudoctor.targets import OnFramework, tensorflows

_CUDNN = (
    "cuDNN's major version is part of its file name. TensorFlow up to 2.17 is built with cuDNN 8, from 2.18 on with 9; "
    "another framework brought the other major, and one environment holds only one of them."
)


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    version = on.framework.version if isinstance(on.framework.version, str) else None
    if all(family(need.soname) == "libcudnn" for need in missing(on)):
        # The older cuDNN would take away the newer one that another framework here needs.
        spec = f"tensorflow[and-cuda]=={version}" if version else "tensorflow[and-cuda]"
        message = "Keep this TensorFlow in an environment of its own, with its own cuDNN."
        own = Fix(message, own_environment(on.python, spec), "reinstall-package")
        return (*newer_tensorflow(on.facts, on.python), own)
    return tensorflow_with_cuda(on.facts, on.python, version) or newer_tensorflow(on.facts, on.python)


@check(
    title="TensorFlow is built for another CUDA major than the installed libraries",
    severity=Severity.ERROR,
    cause="TensorFlow opens libraries by names that carry CUDA's major version; those of another major do not serve, "
    "and links under another name make it crash. The driver is not the cause.",
    fixes=_fixes,
    references=(
        "https://www.tensorflow.org/install/source#gpu",
        "https://github.com/tensorflow/tensorflow/issues/61689",
    ),
    targets=tensorflows,
    caused_by=("python.*", "tensorflow.driver-too-old"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def wrong_cuda_major(on: OnFramework) -> Problem | None:
    """What is missing is there in another major."""
    lacking = missing(on)
    others = other_majors(on.facts, on.python, lacking)
    if not lacking or in_wheels(lacking) or not others:
        return None
    first = next(iter(others))
    built = cuda_of(on) + phrase(" ({})", on.framework.cuda)
    what = "cuDNN" if first.startswith("libcudnn") else "CUDA"
    message = (
        f"{on.name} is built for {built} and needs {first}; installed is only {others[first]}, of "
        f"another major of {what}."
    )
    pairs = (f"{wanted} is missing, {there} is there" for wanted, there in others.items())
    return Problem(
        message,
        (*tuple(pairs)[:5], *words_of_dlopen(on)),
        cause=_CUDNN if what == "cuDNN" else None,
        severity=severity_of(on),
    )
