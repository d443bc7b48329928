"""ONNX Runtime that does not import."""

from functools import partial

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.fixes.imports import install_again
from gpudoctor.queries.frameworks import import_problem
from gpudoctor.targets import OnLive, lives


@check(
    title="ONNX Runtime does not import",
    severity=Severity.ERROR,
    cause="One of its libraries, or of the packages that it needs, is missing, damaged or of another version.",
    fixes=install_again,
    references=("https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html",),
    targets=partial(lives, name="onnxruntime"),
    caused_by=(
        "python.*",
        "python.numpy-2",
        "windows.dll-not-loaded",
        "libraries.*",
        "packages.*",
        "host.*",
        "onnxruntime.both-packages",
        "onnxruntime.wrong-cuda-major",
        "onnxruntime.libraries-not-found",
        "onnxruntime.cpu-package",
        "onnxruntime.driver-too-old",
    ),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def import_fails(on: OnLive) -> Problem | None:
    """The import raises."""
    return import_problem(on)
