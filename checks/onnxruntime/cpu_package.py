"""The CPU package of ONNX Runtime beside a GPU."""

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.maybe import known
from gpudoctor.remedies.frameworks import onnxruntime_spec, onnxruntime_verify
from gpudoctor.remedies.python import install, uninstall
from gpudoctor.subjects import OnFramework, gpu_name, onnxruntimes
from gpudoctor.views.frameworks import is_sole
from gpudoctor.views.gpus import nvidia_gpus


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    commands = (uninstall(on.python, "onnxruntime"), install(on.python, onnxruntime_spec(on.facts, on.python)))
    says = "Replace it by onnxruntime-gpu, if your models are to run on the GPU."
    return (Fix(says, commands, "reinstall-package", verify=onnxruntime_verify(on.python)),)


@check(
    title="ONNX Runtime is the CPU package, though a GPU is there",
    severity=Severity.ADVICE,
    cause="The package onnxruntime has no CUDA provider; onnxruntime-gpu has.",
    fixes=_fixes,
    references=("https://onnxruntime.ai/docs/install/",),
    each=onnxruntimes,
    because=("python.*", "onnxruntime.both-packages"),
    affects=("wheels",),
    seen=("table 2026-11",),
)
def cpu_package(on: OnFramework) -> Problem | None:
    """The CPU package alone, and no other framework that uses the GPU."""
    gpus = nvidia_gpus(on.facts)
    if known(on.framework.variant) != "cpu" or on.framework.distribution != "onnxruntime" or not gpus:
        return None
    if on.framework.others or not is_sole(on.python, on.framework):
        return None
    return Problem(f"{on.name} is the CPU package, and {gpu_name(gpus[0])} lies idle.")
