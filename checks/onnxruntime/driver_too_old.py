"""ONNX Runtime for a CUDA major that the driver does not run."""

from gpudoctor.judge import Fix, Problem, Severity, check
from gpudoctor.knowledge import onnxruntime
from gpudoctor.maybe import present
from gpudoctor.remedies.cuda import newer_driver
from gpudoctor.remedies.frameworks import onnxruntime_verify
from gpudoctor.remedies.python import install, lasting
from gpudoctor.subjects import OnFramework, onnxruntimes
from gpudoctor.views.driver import driver_cuda
from gpudoctor.views.driver_age import behind_framework
from gpudoctor.views.packages import major
from gpudoctor.views.reasons import CUDA_SYSTEM


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    driver = driver_cuda(on.facts)
    number = major(driver) if isinstance(driver, str) else None
    bound = onnxruntime.newest_for(number) if number else None
    newer = newer_driver(on.facts, present(on.framework.cuda))
    if number is None or bound is None:
        return newer
    says = f"Install the last release for CUDA {number}, which this driver runs.{lasting(on.facts)}"
    command = install(on.python, f"onnxruntime-gpu{bound}")
    return (Fix(says, (command,), "reinstall-package", verify=onnxruntime_verify(on.python)), *newer)


@check(
    title="The NVIDIA driver is too old for this ONNX Runtime",
    severity=Severity.ERROR,
    cause="A driver runs programs of its own CUDA major and of older ones; onnxruntime-gpu is built for CUDA 13 from "
    "1.27 on, and falls back to the CPU.",
    fixes=_fixes,
    references=("https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html",),
    each=onnxruntimes,
    because=(*CUDA_SYSTEM, "python.*", "onnxruntime.both-packages"),
    affects=("wheels",),
    seen=("simulated 2026-11",),
)
def driver_too_old(on: OnFramework) -> Problem | None:
    """Its CUDA major is newer than the driver's."""
    return behind_framework(on, on.name)
