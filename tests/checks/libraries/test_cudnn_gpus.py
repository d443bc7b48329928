"""cuDNN against the generation of the GPU."""

from typing import Any

import pytest

from gpudoctor.checks.libraries.cudnn_without_gpu import cudnn_without_gpu
from gpudoctor.facts import CondaPackage, Facts
from gpudoctor.knowledge.library_gpus import first_without, lowest_capability
from gpudoctor.maybe import Unknown, known_or
from tests.builders import change, framework, nvidia_host
from tests.checks.environments import PASCAL, SITE, commands, environment, machine, need, one, package, severity, torch

WHEEL = f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9"
SYSTEM = "/usr/lib/x86_64-linux-gnu/libcudnn.so.9"
OLD = machine("12.8", card=PASCAL)
HERE = "GPU 0 (NVIDIA GeForce GTX 1080 Ti, Pascal, compute capability 6.1, sm_61)"


def jax(version: str | None, path: str = WHEEL, facts: Facts = OLD, **changes: Any) -> Facts:
    """JAX with this cuDNN."""
    found = framework("jax", "0.6.2", cuda="12", cudnn="9.8", needs=(need("libcudnn.so.9", path, version=version),))
    wheels = (package("nvidia-cudnn-cu12", version or "0"),) if path == WHEEL else ()
    return environment(found, packages=wheels, facts=facts, **changes)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (jax("9.10.2.21"), ("pass", "")),
        (jax("8.9.7.29"), ("pass", "")),  # older than the table
        (jax(None), ("pass", "")),
        (jax("9.28.0.42", facts=machine()), ("pass", "")),
        (
            jax("9.28.0.42"),
            (
                "problem",
                "JAX 0.6.2 loads cuDNN 9.28.0.42, whose kernels start at compute capability 7.5: there are none for "
                f"{HERE}.",
            ),
        ),
        (change(jax("9.28.0.42"), "pythons.0.frameworks.0.needs", Unknown("closed")), ("unknown", "closed")),
        (change(jax("9.28.0.42"), "gpus.0.capability", Unknown("no NVML")), ("unknown", "no NVML")),
    ],
)
def test_cudnn_without_gpu(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(cudnn_without_gpu, facts) == verdict


def test_an_old_card_next_to_a_newer_one_is_a_warning() -> None:
    both = change(jax("9.28.0.42"), "gpus", (known_or(OLD.gpus, ())[0], known_or(nvidia_host(2).gpus, ())[1]))
    assert severity(cudnn_without_gpu, both) == "warn"
    assert severity(cudnn_without_gpu, jax("9.28.0.42")) == "fail"


def test_the_wheel_is_replaced() -> None:
    assert "pip install 'nvidia-cudnn-cu12<9.11'" in commands(cudnn_without_gpu, jax("9.28.0.42"))


def test_a_pin_decides_the_version() -> None:
    pinned = package("torch", "2.9.0", requires=("nvidia-cudnn-cu12==9.10.2.21",))
    facts = jax("9.28.0.42")
    packages = facts.pythons[0].packages
    assert isinstance(packages, tuple)
    facts = change(facts, "pythons.0.packages", (*packages, pinned))
    assert "pip install nvidia-cudnn-cu12==9.10.2.21" in commands(cudnn_without_gpu, facts)


def test_the_systems_cudnn_is_replaced_and_held() -> None:
    text = commands(cudnn_without_gpu, jax("9.14.0", SYSTEM))
    assert "apt-get install --allow-downgrades libcudnn9-cuda-12=9.10.2.21-1" in text
    assert "apt-mark hold libcudnn9-cuda-12" in text


def test_condas_cudnn_is_replaced() -> None:
    tools = (CondaPackage(name="cudnn", version="9.14.0.64", build="h0"),)
    facts = jax("9.14.0.64", "/opt/env/lib/libcudnn.so.9", conda=tools, manager="conda", kind="conda")
    assert "conda install -p /opt/env -c conda-forge 'cudnn<9.11'" in commands(cudnn_without_gpu, facts)


def test_a_framework_that_rejects_an_older_cudnn_is_replaced() -> None:
    needs = (need("libcudnn.so.9", WHEEL, version="9.26.0.51"),)
    facts = environment(torch("2.15.0+cu126", cuda="12.6", cudnn="9.26.0.51", needs=needs), facts=OLD)
    text = commands(cudnn_without_gpu, facts)
    assert "nvidia-cudnn" not in text
    assert "https://download.pytorch.org/whl/cu126 'torch==2.14.*'" in text


@pytest.mark.parametrize(
    ("there", "wanted"),
    [
        ("2.12.1+cu126", "2.14"),
        ("2.14.1+cu126", "2.13"),  # never the build that is there
        ("2.11.0", "2.14"),  # PyPI's
        ("2.14.0a0+git1234", "2.14"),  # somebody's own build
    ],
)
def test_the_build_that_is_there_is_no_fix(there: str, wanted: str) -> None:
    needs = (need("libcudnn.so.9", WHEEL, version="9.19.0.56"),)
    facts = environment(torch(there, cuda="12.6", cudnn="9.19.0.56", needs=needs), facts=OLD)
    text = commands(cudnn_without_gpu, facts)
    assert f"'torch=={wanted}.*'" in text
    assert "cudnn.enabled = False" in text
    assert severity(cudnn_without_gpu, facts) == "warn"  # what needs no cuDNN computes


def test_without_another_build_there_is_no_command() -> None:
    needs = (need("libcudnn.so.9", WHEEL, version="9.19.0.56"),)
    found = torch("2.12.1+cu126", cuda="12.6", cudnn="9.19.0.56", needs=needs)
    text = commands(cudnn_without_gpu, environment(found, facts=machine("10.1", card=PASCAL)))
    assert text.startswith("Install a release of PyTorch 2.12.1+cu126 that is built with a cuDNN older than 9.11.")
    assert "pip install" not in text


@pytest.mark.parametrize(("release", "lowest"), [("8.9.7", None), ("9.10.2.21", "5.0"), ("9.11.0", "7.5")])
def test_the_table(release: str, lowest: str | None) -> None:
    assert lowest_capability("cudnn", release) == lowest


def test_the_first_release_without_a_gpu() -> None:
    assert first_without("cudnn", "7.0") == "9.11"
    assert first_without("cudnn", "8.9") is None
