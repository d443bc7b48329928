"""The CPU package of ONNX Runtime next to a GPU."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import onnxruntime_instead, onnxruntime_verify, verify
from gpudoctor.fixes.onnxruntime_libraries import finding_wheels
from gpudoctor.fixes.python import install as install_package
from gpudoctor.fixes.python import lasting, uninstall
from gpudoctor.fixes.system import family_of, install
from gpudoctor.knowledge.onnxruntime import onnxruntime
from gpudoctor.maybe import known, known_or
from gpudoctor.queries.frameworks import is_sole
from gpudoctor.queries.gpus import amd_alone, nvidia_gpus
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import OnFramework, gpu_name, onnxruntimes


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    if not nvidia_gpus(on.facts):
        return (_migraphx(on),)
    commands = onnxruntime_instead(on.facts, on.python, "onnxruntime")
    named, tasks = finding_wheels(on.facts, on.python)
    message = f"Replace it with onnxruntime-gpu if your models should run on the GPU.{named}{lasting(on.facts)}"
    proof = onnxruntime_verify(on.python, preload=bool(named) and not tasks)
    return (Fix(message, (*commands, *tasks), "reinstall-package", verify=proof),)


def _migraphx(on: OnFramework) -> Fix:
    """Wheels with MIGraphX are on PyPI from 1.23 on; they link to the MIGraphX of the installed ROCm."""
    first, own = numbers(onnxruntime().rules.first_migraphx), numbers(known_or(on.framework.version, None) or "")
    spec = f"onnxruntime-migraphx>={'.'.join(map(str, max(first, own[:2])))}"
    message = (
        "Replace it with onnxruntime-migraphx if your models should run on the GPU, install the package migraphx of "
        'your ROCm release, and select providers=["MIGraphXExecutionProvider"] in the program.'
        f"{lasting(on.facts)}"
    )
    system_package = install(on.facts, "migraphx") if family_of(on.facts) else ()
    tasks = (*system_package, uninstall(on.python, "onnxruntime"), install_package(on.python, spec))
    proof = verify(on.python, "import onnxruntime as o; print(o.get_available_providers())")
    return Fix(message, tasks, "reinstall-package", verify=proof)


_AMD = (
    "The package onnxruntime has no provider for AMD GPUs; onnxruntime-migraphx has the MIGraphXExecutionProvider. A "
    "program that asks for one which is not there runs on the CPU, with a warning only."
)


@check(
    title="ONNX Runtime is the CPU-only package",
    severity=Severity.ADVICE,
    cause="The package onnxruntime has no CUDAExecutionProvider; onnxruntime-gpu has.",
    fixes=_fixes,
    references=(
        "https://onnxruntime.ai/docs/install/",
        "https://onnxruntime.ai/docs/execution-providers/MIGraphX-ExecutionProvider.html",
        "https://github.com/microsoft/onnxruntime/pull/25181",
    ),
    targets=onnxruntimes,
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("environment 2026-11",),
)
def cpu_package(on: OnFramework) -> Problem | None:
    """The CPU package alone, and no other framework that uses the GPU."""
    nvidia = nvidia_gpus(on.facts)
    gpus = nvidia or amd_alone(on.facts)
    if known(on.framework.variant) != "cpu" or on.framework.distribution != "onnxruntime" or not gpus:
        return None
    if on.framework.others or not is_sole(on.python, on.framework):
        return None
    message = f"{on.name} is the CPU-only package and does not use {gpu_name(gpus[0])}."
    if nvidia:
        return Problem(message)
    last = onnxruntime().rules.last_rocm
    dropped = numbers(known_or(on.framework.version, None) or "")[:2] > numbers(last)
    gone = f" No release after {last} has the ROCMExecutionProvider: AMD's way is the MIGraphXExecutionProvider."
    return Problem(f"{message}{gone if dropped else ''}", cause=_AMD)
