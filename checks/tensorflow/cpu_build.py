"""TensorFlow without GPU support next to an NVIDIA GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import newer_tensorflow, tensorflow_image
from gpudoctor.fixes.python import conda_install, conda_of, uninstall
from gpudoctor.knowledge import tensorflow
from gpudoctor.maybe import known, phrase, present, text_of
from gpudoctor.queries.frameworks import is_sole
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import OnFramework, gpu_name, tensorflows


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    if _on_windows(on):
        return (Fix("Run TensorFlow inside WSL 2: https://www.tensorflow.org/install/pip#windows-wsl2"),)
    if on.facts.host.architecture == "aarch64":
        return (tensorflow_image(),)
    if any(c.name.startswith("tensorflow") for c in conda_of(on.python)):
        command = conda_install(on.python, "tensorflow=*=*cuda*")
        return (Fix("Install conda-forge's CUDA build of TensorFlow.", (command,), "reinstall-package"),)
    fitting = newer_tensorflow(on.facts, on.python)
    commands = (uninstall(on.python, present(on.framework.distribution)), *(fitting[0].tasks if fitting else ()))
    return (Fix("Replace it with tensorflow[and-cuda].", commands, "reinstall-package"),) if fitting else ()


def _on_windows(on: OnFramework) -> bool:
    last = numbers(tensorflow.tensorflow().rules.last_windows_gpu)
    return on.facts.host.system == "Windows" and numbers(text_of(on.framework.version))[:2] > last


@check(
    title="TensorFlow is a CPU-only build",
    severity=Severity.WARNING,
    cause="tensorflow-cpu, the wheels for 64-bit Arm, conda's eigen and mkl builds, and every release after 2.10 on "
    "native Windows have no GPU support compiled in.",
    fixes=_fixes,
    references=("https://www.tensorflow.org/install/pip",),
    targets=tensorflows,
    caused_by=("python.*", "tensorflow.placeholder", "tensorflow.several-packages"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
    read_from_files=True,
)
def cpu_build(on: OnFramework) -> Problem | None:
    """A CPU build where no other framework of the environment can use the GPU."""
    gpus = nvidia_gpus(on.facts)
    if known(on.framework.variant) != "cpu" or not gpus or not is_sole(on.python, on.framework):
        return None
    chosen = text_of(on.framework.distribution).endswith("-cpu")
    message = f"{on.name}{phrase(' ({})', on.framework.distribution)} has no GPU support and does not use "
    message += f"{gpu_name(gpus[0])}."
    return Problem(message, severity=Severity.WARNING if chosen else Severity.ERROR)
