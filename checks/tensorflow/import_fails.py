"""TensorFlow that does not import."""

from functools import partial

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.fixes.imports import install_again
from gpudoctor.queries.frameworks import import_problem
from gpudoctor.targets import OnLive, lives


@check(
    title="TensorFlow does not import",
    severity=Severity.ERROR,
    cause="One of its libraries, or of the packages that it needs, is missing, damaged or of another version.",
    fixes=install_again,
    references=("https://www.tensorflow.org/install/pip",),
    targets=partial(lives, name="tensorflow"),
    caused_by=(
        "python.*",
        "python.numpy-2",
        "windows.dll-not-loaded",
        "apple.tensorflow-metal-mismatch",
        "libraries.*",
        "packages.*",
        "host.*",
        "tensorflow.cpu-build",
        "tensorflow.libraries-missing",
        "tensorflow.libraries-not-found",
        "tensorflow.wrong-cuda-major",
        "tensorflow.cudnn-too-old",
        "tensorflow.arch-missing",
        "tensorflow.placeholder",
        "tensorflow.several-packages",
    ),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def import_fails(on: OnLive) -> Problem | None:
    """The import raises."""
    return import_problem(on)
