"""TensorFlow built for CUDA beside AMD GPUs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import tensorflow_verify
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import is_sole
from gpudoctor.queries.gpus import amd_alone
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import OnFramework, gpu_name, tensorflows


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    rocm = on.facts.amd.rocm
    release = ".".join(str(n) for n in numbers(rocm)[:2]) if isinstance(rocm, str) else "7.0"
    place = ("-f", f"https://repo.radeon.com/rocm/manylinux/rocm-rel-{release}/")
    message = f"Replace it by AMD's build for the installed ROCm, which is in AMD's own repository.{lasting(on.facts)}"
    commands = (
        uninstall(on.python, on.framework.distribution or "tensorflow"),
        install(on.python, "tensorflow-rocm", options=place),
    )
    return (Fix(message, commands, "reinstall-package", verify=tensorflow_verify(on.python)),)


@check(
    title="TensorFlow is built for NVIDIA GPUs, and this machine has AMD's",
    severity=Severity.WARNING,
    cause="PyPI's tensorflow knows CUDA alone. The build for ROCm is another package, tensorflow-rocm.",
    fixes=_fixes,
    references=(
        "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/tensorflow-install.html",
    ),
    targets=tensorflows,
    caused_by=("python.*", "tensorflow.placeholder"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def wrong_vendor(on: OnFramework) -> Problem | None:
    """A CUDA build where AMD GPUs and ROCm are there, nothing of NVIDIA's, and no other framework uses the GPU."""
    if known(on.framework.variant) != "cuda" or not is_sole(on.python, on.framework):
        return None
    gpus = amd_alone(on.facts)
    return Problem(f"{on.name} is built for CUDA; {gpu_name(gpus[0])} is an AMD GPU and lies idle.") if gpus else None
