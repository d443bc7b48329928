"""Providers of ONNX Runtime that a program asks for and that do not load."""

from typing import Any

import pytest

from gpudoctor.checks.onnxruntime.provider_not_loadable import provider_not_loadable
from gpudoctor.facts import Facts, Need
from gpudoctor.maybe import Unknown
from tests.builders import change, framework
from tests.checks.environments import SITE, commands, environment, one, severity

FILE = "libonnxruntime_providers_tensorrt.so"
BOTH = "TensorrtExecutionProvider,CUDAExecutionProvider"


def need(path: str | None = None, wheel: str | None = None) -> Need:
    return Need(soname="libnvinfer.so.10", needed_by=FILE, path=path, wheel=wheel)


LACKING = (need(),)


def ort(optional: Any = LACKING, version: str = "1.22.0", **variables: str) -> Facts:
    made = framework("onnxruntime", version, distribution="onnxruntime-gpu", optional=optional)
    return change(environment(made), "host.environment", variables)


SAID = (
    "ONNX Runtime 1.22.0: TensorrtExecutionProvider, which {} asks for, needs TensorRT, but libnvinfer.so.10 is not "
    "found{}."
)
HELD = need(wheel=f"{SITE}/tensorrt_libs/libnvinfer.so.10")


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (ort(), ("pass", "")),  # nobody asks for it: most machines have no TensorRT
        (ort(ORT_PROVIDERS="CUDAExecutionProvider"), ("pass", "")),
        (ort((need("/usr/lib/libnvinfer.so.10"),), ORT_PROVIDERS=BOTH), ("pass", "")),
        (ort((), ORT_PROVIDERS=BOTH), ("pass", "")),
        (ort(ORT_PROVIDERS=BOTH), ("problem", SAID.format("ORT_PROVIDERS", ""))),
        (ort(ORT_TENSORRT_FP16_ENABLE="1"), ("problem", SAID.format("ORT_TENSORRT_FP16_ENABLE", ""))),
        (
            ort((HELD,), ORT_PROVIDERS=BOTH),
            (
                "problem",
                SAID.format(
                    "ORT_PROVIDERS",
                    f", although a wheel has it in {SITE}/tensorrt_libs, which the loader does not search",
                ),
            ),
        ),
        (ort(Unknown("closed"), ORT_PROVIDERS=BOTH), ("unknown", "closed")),
    ],
)
def test_provider_not_loadable(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(provider_not_loadable, facts) == verdict


def test_it_is_a_warning_with_the_release_that_it_was_built_with() -> None:
    assert severity(provider_not_loadable, ort(ORT_PROVIDERS=BOTH)) == "warn"
    said = commands(provider_not_loadable, ort(ORT_PROVIDERS=BOTH))
    assert "install 'tensorrt-cu12-libs==10.9.*'" in said
    assert "export ORT_PROVIDERS=CUDAExecutionProvider" in said
    assert "tensorrt-cu12-libs==10.4.*" in commands(provider_not_loadable, ort(version="1.20.1", ORT_PROVIDERS=BOTH))
    held = commands(provider_not_loadable, ort((HELD,), ORT_TENSORRT_FP16_ENABLE="1"))
    assert "pip install" not in held
    assert f"export LD_LIBRARY_PATH={SITE}/tensorrt_libs" in held
