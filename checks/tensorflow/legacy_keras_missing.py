"""TF_USE_LEGACY_KERAS without tf-keras."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install
from gpudoctor.knowledge.python_rules import python_rules
from gpudoctor.maybe import known, present
from gpudoctor.queries.packages import numbers, package
from gpudoctor.targets import OnFramework, tensorflows
from gpudoctor.tasks import export, unset

_ON = ("1", "true", "True")


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    minor = ".".join(str(n) for n in numbers(present(on.framework.version))[:2])
    proof = verify(on.python, "import tensorflow as tf; print(tf.keras.__version__)")
    return (
        Fix(
            "Install the Keras 2 that belongs to this TensorFlow.",
            (install(on.python, f"tf-keras~={minor}.0"),),
            "reinstall-package",
            verify=proof,
        ),
        Fix(
            "Use Keras 3: unset the variable, here and where it is set.",
            (unset("TF_USE_LEGACY_KERAS"),),
            "change-environment",
            undo=(export("TF_USE_LEGACY_KERAS", "1"),),
            verify=proof,
        ),
    )


@check(
    title="TF_USE_LEGACY_KERAS is set but tf-keras is not installed",
    severity=Severity.ERROR,
    cause="From 2.16 on tf.keras is Keras 3; with TF_USE_LEGACY_KERAS=1 it is the package tf-keras, and where that is "
    "missing every use of tf.keras raises ImportError. TensorFlow itself and its GPUs work.",
    fixes=_fixes,
    references=("https://keras.io/getting_started/",),
    targets=tensorflows,
    caused_by=("python.*", "tensorflow.placeholder"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def legacy_keras_missing(on: OnFramework) -> str | None:
    """The variable chooses Keras 2 of a TensorFlow that does not bring it."""
    if on.facts.host.environment.get("TF_USE_LEGACY_KERAS") not in _ON:
        return None
    version = known(on.framework.version) or ""
    if numbers(version)[:2] < numbers(python_rules().keras.tensorflow_since) or package(on.python, "tf-keras"):
        return None
    return f"TF_USE_LEGACY_KERAS makes {on.name} use tf-keras, which is not installed: import tf_keras fails."
