"""Distributions without code for GPUs, on machines with one."""

import pytest

from gpudoctor.checks.packages.cpu_package import cpu_package
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import change, plain_host
from tests.checks.environments import (
    BLACKWELL,
    bare_python,
    commands,
    environment,
    machine,
    one,
    package,
    severity,
    torch,
)

CLOSED = bare_python(packages=Unknown("closed"))


def paddle(*names: str, facts: Facts | None = None) -> Facts:
    return environment(packages=tuple(package(name, "3.2.0") for name in names), facts=facts)


@pytest.mark.parametrize(
    ("names", "level", "typed"),
    [
        (("xgboost-cpu",), "advice", "install xgboost"),
        (("xgboost-cpu", "cudf-cu12"), "warn", "uninstall -y xgboost-cpu"),
        (("xgboost-cpu", "xgboost"), "", ""),  # overwrite each other: another check
        (("xgboost",), "", ""),
        (("faiss-cpu",), "advice", "install faiss-gpu-cu12"),
        (("faiss-cpu", "cuvs-cu12"), "warn", "install faiss-gpu-cu12"),
        (("faiss-cpu", "cudf-cu12"), "advice", "install faiss-gpu-cu12"),  # data frames are not for Faiss
        (("scikit-learn",), "", ""),
    ],
)
def test_a_distribution_without_code_for_gpus(names: tuple[str, ...], level: str, typed: str) -> None:
    facts = paddle(*names)
    assert one(cpu_package, facts)[0] == ("problem" if level else "pass")
    if level:
        assert severity(cpu_package, facts) == level
        assert typed in commands(cpu_package, facts)


def test_paddle() -> None:
    message = "paddlepaddle 3.2.0 has no CUDA support, so GPU 0 (NVIDIA GeForce RTX 4090) is not used."
    assert one(cpu_package, paddle("paddlepaddle")) == ("problem", message)
    assert severity(cpu_package, paddle("paddlepaddle")) == "warn"  # nothing else here computes
    other = environment(torch(variant="cpu", cuda=None), packages=(package("paddlepaddle", "3.2.0"),))
    assert severity(cpu_package, other) == "advice"
    assert "stable/cu126/ paddlepaddle-gpu" in commands(cpu_package, paddle("paddlepaddle"))
    assert "stable/cu118/" in commands(cpu_package, paddle("paddlepaddle", facts=machine("11.4")))
    assert "stable/cu129/" in commands(cpu_package, paddle("paddlepaddle", facts=machine(card=BLACKWELL)))
    assert one(cpu_package, paddle("paddlepaddle-gpu")) == ("pass", "")
    assert one(cpu_package, paddle("paddlepaddle", "paddlepaddle-gpu")) == ("pass", "")
    assert one(cpu_package, paddle("paddlepaddle", facts=plain_host())) == ("pass", "")
    beside = environment(torch(), packages=(package("paddlepaddle", "3.2.0"),))
    assert one(cpu_package, beside) == ("pass", "")
    assert one(cpu_package, change(beside, "pythons.0", CLOSED)) == ("unknown", "closed")
