"""A toolkit that nobody named is taken all the same by what compiles at run time."""

from typing import Any

import msgspec
import pytest

from gpudoctor.checks.cuda.compiler_too_new import compiler_too_new
from gpudoctor.checks.cuda.host_compiler_missing import host_compiler_missing
from gpudoctor.checks.cuda.nvcc_mismatch import nvcc_mismatch
from gpudoctor.checks.cuda.nvcc_without_gpu import nvcc_without_gpu
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.cuda.test_cuda import toolkit
from tests.checks.environments import BLACKWELL, environment, machine, one, package, severity, torch


def with_fallback(*names: str, cuda: str = "12.4", card: dict[str, Any] | None = None, **changes: Any) -> Facts:
    """A toolkit in /usr/local/cuda, which no variable and no PATH names, and packages."""
    found = msgspec.structs.replace(toolkit(cuda, "/usr/local/cuda", gcc="gcc 15.1.1"), **changes)
    packages = tuple(package(name, "0.6.1") for name in names)
    return environment(torch("2.9.1", cuda="12.8"), packages=packages, facts=machine(toolkits=found, card=card))


@pytest.mark.parametrize(
    ("facts", "check"),
    [
        (with_fallback("sglang"), compiler_too_new),
        (with_fallback("deepspeed"), compiler_too_new),
        (with_fallback("sglang", c_alone="gcc-12"), host_compiler_missing),
        (with_fallback("sglang", card=BLACKWELL), nvcc_without_gpu),
    ],
)
def test_what_compiles_at_run_time_takes_the_fallback(facts: Facts, check: Any) -> None:
    assert one(check, facts)[0] == "problem"
    assert severity(check, facts) == "warn"
    without = change(facts, "pythons.0.packages", (package("transformers", "4.57.0"),))
    assert one(check, without) == ("pass", "")
    closed = change(facts, "pythons.0.packages", Unknown("closed"))
    assert one(check, closed) == ("pass", "")


def test_another_major_is_refused_by_pytorchs_build_tools() -> None:
    assert severity(nvcc_mismatch, with_fallback(cuda="13.0")) == "advice"
    assert severity(nvcc_mismatch, with_fallback("deepspeed", cuda="13.0")) == "warn"
    assert severity(nvcc_mismatch, with_fallback("sglang", cuda="13.0")) == "advice"  # it compiles by itself


def test_whether_a_package_compiles_for_the_gpu_is_unknown() -> None:
    facts = change(with_fallback("sglang"), "gpus.0.capability", Unknown("NVML: Unknown Error"))
    assert one(compiler_too_new, facts) == ("unknown", "NVML: Unknown Error")
