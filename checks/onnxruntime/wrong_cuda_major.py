"""ONNX Runtime for one CUDA major next to the libraries of another."""

from gpudoctor.check_engine import Fix
from gpudoctor.checks.onnxruntime import ONNXRUNTIME
from gpudoctor.families import builds
from gpudoctor.fixes.frameworks import onnxruntime_spec, onnxruntime_verify
from gpudoctor.fixes.onnxruntime_libraries import finding_wheels
from gpudoctor.fixes.python import install, lasting
from gpudoctor.queries.onnxruntime import missing, words
from gpudoctor.targets import OnFramework


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    wanted = onnxruntime_spec(on.facts, on.python)
    named, tasks = finding_wheels(on.facts, on.python)
    message = (
        f"Install the release for the installed CUDA major, with the CUDA and cuDNN wheels that it needs.{named}"
        f"{lasting(on.facts)}"
    )
    proof = onnxruntime_verify(on.python, preload=bool(named) and not tasks)
    return (Fix(message, (install(on.python, wanted, upgrade=True), *tasks), "reinstall-package", verify=proof),)


wrong_cuda_major = builds.wrong_cuda_major(
    ONNXRUNTIME,
    __name__,
    missing=missing,
    causes=("onnxruntime.both-packages", "onnxruntime.driver-too-old"),
    then=": it runs on the CPU",
    evidence=words,
    cause="onnxruntime-gpu from PyPI is built for CUDA 11 up to 1.18, for CUDA 12 from 1.19 and for CUDA 13 from 1.27; "
    "its CUDA provider opens libraries whose names carry the major version, and silently falls back to the CPU.",
    fixes=_fixes,
    references=(
        ONNXRUNTIME.docs,
        "https://github.com/microsoft/onnxruntime/issues/21684",
        "https://github.com/microsoft/onnxruntime/issues/29767",
    ),
    validated_on=("simulated 2026-11",),
)
