"""transformers that imports TensorFlow's models, and Keras 3 without tf-keras."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge.python_rules import python_rules
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import numbers, package, release
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks import Task, export, query, unset

# transformers/utils/import_utils.py: TensorFlow is used unless USE_TF is something else, or USE_TORCH is one of these.
_BROKEN = ("transformers", "sentence-transformers")
_ON = ("1", "ON", "YES", "TRUE", "AUTO")


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    tensorflow = one_of(on.python, "tensorflow")
    version = tensorflow.version if tensorflow and isinstance(tensorflow.version, str) else ""
    minor = ".".join(release(version).split(".")[:2])
    # It requires the package tensorflow, which would overwrite tensorflow-cpu and others in that directory.
    alone = tensorflow is not None and tensorflow.distribution != "tensorflow"
    spec = f"tf-keras~={minor}.0" if minor else "tf-keras"
    message = f"Install tf-keras, the Keras 2 for this TensorFlow.{lasting(on.facts)}"
    off = "If you use only PyTorch models, disable TensorFlow in transformers."
    return (
        Fix(message, (install(on.python, spec, no_deps=alone),), "reinstall-package", verify=_proof(on)),
        Fix(off, (export("USE_TF", "0"),), "change-environment", undo=(unset("USE_TF"),), verify=_proof(on)),
    )


def _proof(on: OnPython) -> Task:
    return query(on.python.path, "-c", "from transformers import TFPreTrainedModel")


@check(
    title="transformers does not support Keras 3: tf-keras is missing",
    severity=Severity.WARNING,
    cause="transformers 4 imports its TensorFlow models whenever TensorFlow is installed (Trainer, TFAutoModel); they "
    "need Keras 2, which the package tf-keras provides: 'Your currently installed version of Keras is Keras 3'.",
    fixes=_fixes,
    references=(
        "https://github.com/huggingface/transformers/pull/28588",
        "https://github.com/huggingface/transformers/issues/36410",
    ),
    targets=pythons,
    only_with=("pythons.packages.name=transformers",),
    affects=("extensions",),
    validated_on=("table 2026-11",),
)
def keras_3_for_transformers(on: OnPython) -> Problem | None:
    """A release of transformers with TensorFlow models, TensorFlow, Keras 3, and no tf-keras."""
    found, keras = package(on.python, "transformers"), package(on.python, "keras")
    first, last = (numbers(v) for v in python_rules().keras.transformers)
    if found is None or not first <= numbers(found.version) < last or one_of(on.python, "tensorflow") is None:
        return None
    if keras is None or numbers(keras.version)[:1] < (3,) or package(on.python, "tf-keras"):
        return None
    environment = on.facts.host.environment
    if environment.get("USE_TF", "AUTO").upper() not in _ON or environment.get("USE_TORCH", "").upper() in _ON[:-1]:
        return None
    message = f"transformers {found.version} needs Keras 2 for TensorFlow, but only Keras {keras.version} is installed."
    # Beside PyTorch its other models work; without, and for sentence-transformers, there are none.
    alone = one_of(on.python, "torch") is None or package(on.python, "sentence-transformers") is not None
    return Problem(message, severity=Severity.ERROR if alone else None, breaks=_BROKEN)
