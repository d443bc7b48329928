"""Several TensorFlow packages in one environment."""

from gpudoctor.check_engine import Fix, Severity
from gpudoctor.checks.tensorflow import TENSORFLOW
from gpudoctor.families import rivals
from gpudoctor.fixes.frameworks import tensorflow_with_cuda
from gpudoctor.fixes.python import uninstall
from gpudoctor.targets import OnFramework, has_nvidia


def _packages(on: OnFramework) -> tuple[str, ...]:
    """Those that claim the same files, next to an NVIDIA GPU."""
    names = {on.framework.distribution, *(name for name, _ in on.framework.others)}
    overlap = next((o for o in on.python.overlaps if len(names & set(o.packages)) > 1), None)
    return overlap.packages if overlap and has_nvidia(on.facts) else ()


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    versions = rivals.versions_of(on)
    fitting = tensorflow_with_cuda(on.facts, on.python, versions.get("tensorflow"))
    commands = (uninstall(on.python, *_packages(on)), *(fitting[0].tasks if fitting else ()))
    message = "Remove all of them, then install only one: they share the directory tensorflow."
    proof = fitting[0].verify if fitting else None
    return (Fix(message, commands, "reinstall-package", verify=proof),)


several_packages = rivals.several_packages(
    TENSORFLOW,
    __name__,
    packages=_packages,
    fixes=_fixes,
    severity=Severity.WARNING,
    references=(TENSORFLOW.docs,),
    validated_on=("environment 2026-11",),
)
