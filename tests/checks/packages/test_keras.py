"""Keras: which backend it takes, and who needs Keras 2."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Check, judge
from gpudoctor.checks.packages.keras_3_for_transformers import keras_3_for_transformers
from gpudoctor.checks.packages.keras_backend_cpu import keras_backend_cpu
from gpudoctor.checks.packages.keras_backend_missing import keras_backend_missing
from gpudoctor.checks.tensorflow.legacy_keras_missing import legacy_keras_missing
from gpudoctor.facts import Facts, Framework
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from gpudoctor.targets import OnPython
from tests.builders import change, framework, plain_host
from tests.checks.environments import bare_python, blind, commands, environment, one, package, severity, torch

KERAS = package("keras", "3.9.2")
FILE = "/home/me/.keras/keras.json"
TF = framework("tensorflow", "2.19.0", cuda="12.5")
TF_CPU = framework("tensorflow", "2.19.0", distribution="tensorflow-cpu", cuda=None, variant="cpu", archs=())


TF_CONDA = framework("tensorflow", "2.19.0", cuda=None, variant="cpu", archs=())


def keras(*frameworks: Framework, backend: object = "tensorflow", by: str = "default") -> Facts:
    return environment(*frameworks, packages=(KERAS,), keras_backend=backend, keras_backend_by=by)


def test_a_backend_that_is_not_installed() -> None:
    facts = keras(torch(), by=FILE)
    message = (
        f"Keras 3.9.2 uses TensorFlow as its backend (set by {FILE}), which is not installed. PyTorch is installed."
    )
    assert one(keras_backend_missing, facts) == ("problem", message)
    assert "export KERAS_BACKEND=torch" in commands(keras_backend_missing, facts)
    assert f'set "backend": "torch" in {FILE}' in commands(keras_backend_missing, facts)
    assert severity(keras_backend_missing, facts) == "warn"  # what TensorFlow left behind, perhaps
    alone = keras(backend="jax", by="KERAS_BACKEND")
    assert severity(keras_backend_missing, alone) == "fail"
    message = "Keras 3.9.2 uses JAX as its backend (set by KERAS_BACKEND), which is not installed."
    assert one(keras_backend_missing, alone) == ("problem", message)
    assert "export" not in commands(keras_backend_missing, alone)
    assert "install 'jax[cuda12]'" in commands(keras_backend_missing, alone)
    request = commands(keras_backend_missing, keras(TF, backend="torch", by="KERAS_BACKEND"))
    assert "--index-url https://download.pytorch.org/whl/cu126 torch" in request
    on_cpu = change(plain_host(), "pythons", keras(backend="torch").pythons)
    assert "-m pip install torch\n" in commands(keras_backend_missing, on_cpu) + "\n"
    assert "(the default)" in one(keras_backend_missing, keras())[1]


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (keras(TF), "pass"),
        (keras(TF_CPU), "pass"),
        (keras(torch(), backend="openvino", by="KERAS_BACKEND"), "pass"),
        (keras(torch(), backend=None), "pass"),
        (keras(torch(), backend=Unknown("closed")), "unknown"),
        (environment(packages=(KERAS, package("tf-nightly", "2.21.0")), keras_backend="tensorflow"), "pass"),
    ],
)
def test_a_backend_that_is_there(facts: Facts, outcome: str) -> None:
    assert one(keras_backend_missing, facts)[0] == outcome


@pytest.mark.parametrize("check", [keras_backend_missing, keras_backend_cpu])
def test_without_keras_nobody_needs_to_know_its_backend(check: Check[OnPython]) -> None:
    facts = environment(torch(), keras_backend=Unknown("not gathered"))
    assert one(check, facts) == ("pass", "")
    assert one(check, change(facts, "pythons.0", bare_python(packages=Unknown("closed")))) == ("unknown", "closed")


def test_a_backend_on_the_cpu() -> None:
    facts = keras(TF_CONDA, torch())
    message = (
        "Keras uses TensorFlow 2.19.0, which is a CPU build, so GPU 0 (NVIDIA GeForce RTX 4090) is not used; PyTorch "
        "2.7.1 is also installed and built for the GPU."
    )
    assert one(keras_backend_cpu, facts) == ("problem", message)
    assert "export KERAS_BACKEND=torch" in commands(keras_backend_cpu, facts)
    assert severity(keras_backend_cpu, facts) == "advice"
    meant = keras(TF_CPU, torch())  # tensorflow-cpu, which brings Keras along
    assert one(keras_backend_cpu, meant) == ("pass", "")
    assert one(keras_backend_cpu, change(meant, "pythons.0.keras_backend_by", "KERAS_BACKEND"))[0] == "problem"


@pytest.mark.parametrize(
    ("facts", "outcome"),
    [
        (keras(TF, torch()), "pass"),
        (keras(TF_CPU), "pass"),
        (keras(TF_CPU, torch(), backend="torch"), "pass"),
        (change(change(keras(TF_CPU, torch()), "gpus", ()), "pci", ()), "pass"),
        (keras(framework("tensorflow", variant=Unknown("closed")), torch()), "unknown"),
        (keras(TF_CPU, torch(), backend=Unknown("closed")), "unknown"),
    ],
)
def test_a_backend_that_may_stay(facts: Facts, outcome: str) -> None:
    assert one(keras_backend_cpu, facts)[0] == outcome


def bert(version: str = "4.46.3", **env: str) -> Facts:
    packages = (KERAS, package("transformers", version))
    return change(environment(TF, packages=packages), "host.environment", env)


def test_transformers_and_keras_3() -> None:
    message = "transformers 4.46.3 needs Keras 2 for TensorFlow, but only Keras 3.9.2 is installed."
    assert one(keras_3_for_transformers, bert()) == ("problem", message)
    assert "install 'tf-keras~=2.19.0'" in commands(keras_3_for_transformers, bert())
    for_cpu = environment(TF_CPU, packages=(KERAS, package("transformers", "4.46.3")))
    assert "install --no-deps 'tf-keras~=2.19.0'" in commands(keras_3_for_transformers, for_cpu)
    assert one(keras_3_for_transformers, bert("5.0.0"))[0] == "pass"
    assert one(keras_3_for_transformers, bert(USE_TF="0"))[0] == "pass"
    assert one(keras_3_for_transformers, bert(USE_TF="none"))[0] == "pass"
    assert one(keras_3_for_transformers, bert(USE_TORCH="1"))[0] == "pass"
    assert one(keras_3_for_transformers, bert(USE_TORCH="auto"))[0] == "problem"
    with_keras_2 = environment(TF, packages=(KERAS, package("transformers", "4.46"), package("tf-keras", "2.19.0")))
    assert one(keras_3_for_transformers, with_keras_2)[0] == "pass"
    without_tensorflow = environment(torch(), packages=(KERAS, package("transformers", "4.46")))
    assert one(keras_3_for_transformers, without_tensorflow)[0] == "pass"
    assert one(keras_3_for_transformers, environment(TF, packages=(package("transformers", "4.46"),)))[0] == "pass"
    unknown = change(bert(), "pythons.0", bare_python(packages=Unknown("closed")))
    assert one(keras_3_for_transformers, unknown) == ("unknown", "closed")


@pytest.mark.parametrize(
    ("version", "value", "expected"),
    [
        (
            "2.19.0",
            "1",
            (
                "problem",
                "TF_USE_LEGACY_KERAS makes TensorFlow 2.19.0 use tf-keras, which is not installed: import tf_keras "
                "fails.",
            ),
        ),
        ("2.19.0", "0", ("pass", "")),
        ("2.15.1", "1", ("pass", "")),
        (Unknown("closed"), "1", ("unknown", "closed")),
        (Unknown("closed"), "0", ("pass", "")),
    ],
)
def test_legacy_keras(version: object, value: str, expected: tuple[str, str]) -> None:
    found = framework("tensorflow", "2.19.0")
    facts = change(environment(found), "pythons.0.frameworks.0.version", version)
    assert one(legacy_keras_missing, change(facts, "host.environment", {"TF_USE_LEGACY_KERAS": value})) == expected


def test_legacy_keras_that_is_there() -> None:
    facts = environment(TF, packages=(package("tf-keras", "2.19.0"),))
    chosen = change(facts, "host.environment", {"TF_USE_LEGACY_KERAS": "1"})
    assert one(legacy_keras_missing, chosen) == ("pass", "")


def test_keras_explains_no_failure_of_a_framework() -> None:
    ill = torch(live=blind(import_error="ImportError: libcudart.so.12: cannot open shared object file"))
    facts = keras(ill, by="KERAS_BACKEND")
    report = build(facts, judge(facts, catalogue.load(["pytorch.import-fails", "packages.keras-backend-missing"])))
    assert [f.check for f in report.findings] == ["pytorch.import-fails", "packages.keras-backend-missing"]
