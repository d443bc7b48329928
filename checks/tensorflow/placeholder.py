"""The package tensorflow-gpu, which no longer contains TensorFlow."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.frameworks import newer_tensorflow, tensorflow_verify
from gpudoctor.fixes.python import install, uninstall
from gpudoctor.maybe import phrase, present
from gpudoctor.targets import OnFramework, tensorflows

_DEAD = ("tensorflow-gpu", "tf-nightly-gpu")


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    name = present(on.framework.distribution)
    fitting = newer_tensorflow(on.facts, on.python)
    commands = fitting[0].tasks if fitting else (install(on.python, "tensorflow[and-cuda]"),)
    message = f"Remove {name} and install tensorflow with the extra and-cuda, which installs the CUDA libraries."
    proof = fitting[0].verify if fitting else tensorflow_verify(on.python)
    return (Fix(message, (uninstall(on.python, name), *commands), "reinstall-package", verify=proof),)


@check(
    title="tensorflow-gpu is an empty placeholder",
    severity=Severity.ERROR,
    cause="The package tensorflow-gpu was discontinued and removed in favor of tensorflow, which has included GPU "
    "support since 2.1; its last release is an empty placeholder that contains no tensorflow module.",
    fixes=_fixes,
    references=(
        "https://pypi.org/project/tensorflow-gpu/",
        "https://github.com/tensorflow/tensorflow/issues/60241",
    ),
    targets=tensorflows,
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def placeholder(on: OnFramework) -> Problem | None:
    """Metadata of tensorflow-gpu, and no module."""
    framework = on.framework
    if framework.distribution not in _DEAD or framework.location is not None or framework.others:
        return None
    name = framework.distribution + phrase(" {}", framework.version)
    message = f"{name} is installed; it is an obsolete, empty package: there is no module tensorflow to import."
    return Problem(message)
