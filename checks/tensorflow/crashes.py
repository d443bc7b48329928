"""TensorFlow whose process dies of a signal."""

from functools import partial

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.fixes.imports import after_crash
from gpudoctor.queries.cause_groups import SYSTEM
from gpudoctor.queries.frameworks import crash
from gpudoctor.targets import OnLive, lives


@check(
    title="TensorFlow crashes",
    severity=Severity.ERROR,
    cause="A library of another version, or a damaged one, is loaded into the process, or the driver fails under it.",
    fixes=after_crash,
    references=("https://docs.python.org/3/library/faulthandler.html",),
    targets=partial(lives, name="tensorflow"),
    caused_by=(
        *SYSTEM,
        "python.*",
        "python.numpy-2",
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
    validated_on=("table 2026-11",),
)
def crashes(on: OnLive) -> Problem | None:
    """The child died of a signal."""
    return crash(on)
