"""ONNX Runtime for a CUDA major that the driver does not run."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.cuda import newer_driver
from gpudoctor.fixes.frameworks import onnxruntime_verify
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge import onnxruntime
from gpudoctor.maybe import present
from gpudoctor.queries.cause_groups import CUDA_SYSTEM
from gpudoctor.queries.driver import driver_cuda
from gpudoctor.queries.driver_floor import behind_framework
from gpudoctor.queries.packages import major
from gpudoctor.targets import OnFramework, onnxruntimes


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    driver = driver_cuda(on.facts)
    number = major(driver) if isinstance(driver, str) else None
    bound = onnxruntime.newest_for(number) if number else None
    newer = newer_driver(on.facts, present(on.framework.cuda))
    if number is None or bound is None:
        return newer
    message = f"Install the last release for CUDA {number}, which this driver runs.{lasting(on.facts)}"
    command = install(on.python, f"onnxruntime-gpu{bound}")
    return (Fix(message, (command,), "reinstall-package", verify=onnxruntime_verify(on.python)), *newer)


@check(
    title="The NVIDIA driver is too old for this ONNX Runtime",
    severity=Severity.ERROR,
    cause="A driver runs programs of its own CUDA major and of older ones; onnxruntime-gpu is built for CUDA 13 from "
    "1.27 on, and falls back to the CPU.",
    fixes=_fixes,
    references=("https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html",),
    targets=onnxruntimes,
    caused_by=(*CUDA_SYSTEM, "python.*", "onnxruntime.both-packages"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def driver_too_old(on: OnFramework) -> Problem | None:
    """Its CUDA major is newer than the driver's."""
    return behind_framework(on, on.name)
