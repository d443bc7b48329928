"""TensorFlow without the CUDA libraries that it opens."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import tensorflow_with_cuda
from gpudoctor.queries.libraries import other_majors
from gpudoctor.queries.packages import wheels
from gpudoctor.queries.tensorflow import cuda_of, in_wheels, missing, severity_of, words_of_dlopen
from gpudoctor.targets import OnFramework, tensorflows


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    version = on.framework.version
    return tensorflow_with_cuda(on.facts, on.python, version if isinstance(version, str) else None)


@check(
    title="CUDA libraries of TensorFlow are not installed",
    severity=Severity.ERROR,
    cause="`pip install tensorflow` installs no CUDA libraries; they come as nvidia-* wheels with the extra and-cuda, "
    "or from a CUDA toolkit of the same major. Without them TensorFlow reports 'Cannot dlopen some GPU libraries' and "
    "skips all GPUs, whatever the driver does.",
    fixes=_fixes,
    references=(
        "https://www.tensorflow.org/install/pip",
        "https://github.com/tensorflow/tensorflow/issues/64881",
    ),
    targets=tensorflows,
    caused_by=("python.*", "tensorflow.driver-too-old", "libraries.wheel-incomplete", "libraries.wheel-missing"),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
    read_from_files=True,
)
def libraries_missing(on: OnFramework) -> Problem | None:
    """Libraries that TensorFlow opens by name are nowhere, in no version."""
    lacking = missing(on)
    if not lacking or in_wheels(lacking) or other_majors(on.facts, on.python, lacking):
        return None
    names = ", ".join(need.soname for need in lacking)
    wheel = "no nvidia-* wheels are installed" if not wheels(on.python) else "the installed nvidia-* wheels lack them"
    message = f"{on.name} needs the {cuda_of(on)} libraries {names}, which are not found: {wheel}, and no CUDA toolkit "
    message += "has them."
    return Problem(message, words_of_dlopen(on), severity=severity_of(on))
