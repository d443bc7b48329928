"""ONNX Runtime."""

from gpudoctor.check_engine import Fix
from gpudoctor.families import FrameworkFamily
from gpudoctor.fixes.frameworks import onnxruntime_verify, other_cudnn
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.knowledge import onnxruntime
from gpudoctor.maybe import text_of
from gpudoctor.queries.driver import driver_cuda
from gpudoctor.queries.packages import major
from gpudoctor.targets import OnFramework


def _fitting(on: OnFramework) -> tuple[Fix, ...]:
    """The last release for the driver's CUDA major; nothing where none is known."""
    number = major(text_of(driver_cuda(on.facts)))
    bound = onnxruntime.newest_for(number) if number else None
    if number is None or bound is None:
        return ()
    message = f"Install the last release for CUDA {number}, which this driver runs.{lasting(on.facts)}"
    extras = onnxruntime.extras_for(number)  # of the same major as the release: those of another do not help
    others = other_cudnn(on.python, number) if extras else ()
    first = (uninstall(on.python, *others),) if others else ()
    commands = (*first, install(on.python, f"onnxruntime-gpu{'[cuda,cudnn]' if extras else ''}{bound}"))
    return (Fix(message, commands, "reinstall-package", verify=onnxruntime_verify(on.python, preload=extras)),)


ONNXRUNTIME = FrameworkFamily(
    "onnxruntime",
    "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html",
    _fitting,
    libraries=("onnxruntime.driver-too-old", "onnxruntime.libraries-not-found", "onnxruntime.wrong-cuda-major"),
    packages=("onnxruntime.both-packages",),
    cpu_build="onnxruntime.cpu-package",
)
