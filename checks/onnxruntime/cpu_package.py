"""The CPU package of ONNX Runtime next to a GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import onnxruntime_instead, onnxruntime_verify
from gpudoctor.fixes.python import lasting
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import is_sole
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.targets import OnFramework, gpu_name, onnxruntimes


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    commands = onnxruntime_instead(on.facts, on.python, "onnxruntime")
    message = (
        "Replace it with onnxruntime-gpu if your models should run on the GPU, and call onnxruntime.preload_dlls() "
        f"before the first session, so that it finds the CUDA libraries.{lasting(on.facts)}"
    )
    return (Fix(message, commands, "reinstall-package", verify=onnxruntime_verify(on.python, preload=True)),)


@check(
    title="ONNX Runtime is the CPU-only package",
    severity=Severity.ADVICE,
    cause="The package onnxruntime has no CUDAExecutionProvider; onnxruntime-gpu has.",
    fixes=_fixes,
    references=("https://onnxruntime.ai/docs/install/",),
    targets=onnxruntimes,
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("environment 2026-11",),
)
def cpu_package(on: OnFramework) -> Problem | None:
    """The CPU package alone, and no other framework that uses the GPU."""
    gpus = nvidia_gpus(on.facts)
    if known(on.framework.variant) != "cpu" or on.framework.distribution != "onnxruntime" or not gpus:
        return None
    if on.framework.others or not is_sole(on.python, on.framework):
        return None
    return Problem(f"{on.name} is the CPU-only package and does not use {gpu_name(gpus[0])}.")
