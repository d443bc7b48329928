"""A framework that dies, or does not import: told alike of each, and only what explains it is named as its cause."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge, run
from gpudoctor.checks.cupy.crashes import crashes as cupy
from gpudoctor.checks.jax.crashes import crashes as jax
from gpudoctor.checks.onnxruntime.crashes import crashes as onnxruntime
from gpudoctor.checks.python.numpy_2 import numpy_2
from gpudoctor.checks.pytorch.import_crashes import import_crashes as torch
from gpudoctor.checks.tensorflow.crashes import crashes as tensorflow
from gpudoctor.maybe import Unknown
from gpudoctor.root_causes import findings
from tests.builders import framework, live, with_framework
from tests.checks.environments import commands, environment, need, package
from tests.checks.environments import torch as torch_of
from tests.parsers.test_dying_words import ABORTED, CHECK, DUMP, JAX

EVERY = {"torch": torch, "tensorflow": tensorflow, "cupy": cupy, "jax": jax, "onnxruntime": onnxruntime}
IMPORT, LIBRARIES = "tensorflow.import-fails", "tensorflow.libraries-missing"
each = pytest.mark.parametrize("name", EVERY)


def dead(name: str, **changes: Any) -> Any:
    return with_framework(framework(name, "1.2.3", live=live(stage="devices", **changes)))


@each
def test_its_last_words_are_the_evidence_and_not_our_frames(name: str) -> None:
    (found,) = run(EVERY[name], dead(name, died="SIGABRT", stderr=DUMP))
    assert found.problem is not None
    assert "crashes with SIGABRT in the stage devices" in found.message
    assert found.problem.evidence == (CHECK, ABORTED, JAX.strip())
    assert found.problem.cause == "A library aborted the process itself; its last output shows why."


@each
@pytest.mark.parametrize(("signal", "message"), [("SIGILL", "lscpu"), ("SIGKILL", "more memory")])
def test_no_package_is_at_fault_where_the_signal_says_so(name: str, signal: str, message: str) -> None:
    facts = dead(name, died=signal)
    (found,) = run(EVERY[name], facts)
    assert "pip" not in commands(EVERY[name], facts)
    assert message in " ".join(
        (*(fix.message for fix in found.fixes), *(c for fix in found.fixes for c in fix.commands))
    )


@pytest.mark.parametrize(
    ("error", "roots"),
    [
        (
            "TypeError: Descriptors cannot be created directly.",
            ["tensorflow.import-fails", "tensorflow.libraries-missing"],
        ),
        ("ImportError: libcudart.so.11.0: cannot open shared object file", ["tensorflow.libraries-missing"]),
    ],
)
def test_missing_libraries_explain_no_error_of_pythons_own(error: str, roots: list[str]) -> None:
    failed = live(import_error=error, stage="import", available=Unknown(f"import failed: {error}"))
    ill = framework("tensorflow", "2.17.1", cuda="12.5", needs=(need("libcudart.so.12"),), live=failed)
    verdicts = judge(environment(ill), catalogue.load((IMPORT, LIBRARIES)))
    assert [finding.root.check.id for finding in findings(verdicts)[0]] == roots


def test_numpy_2_says_of_the_gpu_only_what_is_known() -> None:
    old = package("tensorflow", "2.15.0"), package("numpy", "2.2.6")
    (found,) = run(numpy_2, environment(framework("tensorflow", "2.15.0"), packages=old))
    assert found.problem is not None
    assert "GPU" not in (found.problem.cause or numpy_2.cause)
    assert "torch" not in (found.problem.cause or numpy_2.cause)
    (found,) = run(numpy_2, environment(torch_of("2.2.2"), packages=(package("torch", "2.2.2"), old[1])))
    assert "torch.from_numpy()" in str(found.problem)
