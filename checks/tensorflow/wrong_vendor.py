"""TensorFlow built for another vendor's GPUs."""

from gpudoctor.check_engine import Fix, Severity
from gpudoctor.checks.tensorflow import TENSORFLOW
from gpudoctor.facts import Gpu
from gpudoctor.families import builds
from gpudoctor.fixes.frameworks import tensorflow_verify
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.knowledge.rocm import wheels
from gpudoctor.queries.packages import numbers
from gpudoctor.targets import OnFramework


def _fixes(on: OnFramework, gpu: Gpu) -> tuple[Fix, ...]:
    if gpu.vendor == "nvidia":
        return TENSORFLOW.fitting(on)
    rocm = on.facts.amd.rocm
    release = ".".join(str(n) for n in numbers(rocm)[:2]) if isinstance(rocm, str) else "7.0"
    place = ("-f", wheels(release))
    message = f"Replace it with AMD's build for the installed ROCm, from AMD's own repository.{lasting(on.facts)}"
    commands = (
        uninstall(on.python, on.framework.distribution or "tensorflow"),
        install(on.python, "tensorflow-rocm", options=place),
    )
    return (Fix(message, commands, "reinstall-package", verify=tensorflow_verify(on.python)),)


wrong_vendor = builds.wrong_vendor(
    TENSORFLOW,
    __name__,
    fixes=_fixes,
    brings_rocm=False,
    severity=Severity.WARNING,
    cause="PyPI's tensorflow supports only CUDA. The build for ROCm is another package, tensorflow-rocm, and supports "
    "only AMD GPUs.",
    references=(
        "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/tensorflow-install.html",
    ),
    caused_by=("python.*", "tensorflow.placeholder"),
    validated_on=("table 2026-11",),
)
