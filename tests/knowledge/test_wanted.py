"""The packages that matter."""

import pytest

from gpudoctor.knowledge.wanted import is_extension, is_framework, matters, module_of, modules, wanted
from gpudoctor.registry import BY_MODULE


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch", True),
        ("torchvision", True),
        ("nvidia-cudnn-cu12", True),
        ("cuda-toolkit", True),
        ("cupy-cuda12x", True),
        ("bitsandbytes", True),
        ("numpy", True),
        ("requests", False),
        ("opencv-python", False),
        ("numpydoc", False),
    ],
)
def test_matters(name: str, expected: bool) -> None:
    assert matters(name) is expected


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("torch", "torch"),
        ("cupy-cuda13x", "cupy"),
        ("cupy", "cupy"),
        ("onnxruntime-gpu", "onnxruntime"),
        ("tensorflow-gpu", "tensorflow"),
        ("tensorflow-estimator", None),
        ("torchvision", "torchvision"),
        ("pytorch-triton-rocm", "triton"),
        ("torchmetrics", None),
    ],
)
def test_module_of(name: str, module: str | None) -> None:
    assert module_of(name) == module


def test_what_is_named_matters() -> None:
    assert all(matters(name) for name in wanted().extensions)
    assert all(is_extension(name) for name in wanted().extensions)
    assert all(is_framework(name) for name in BY_MODULE)
    assert set(BY_MODULE) <= set(modules())
    assert {one.framework for one in wanted().framework} == set(BY_MODULE)
    assert all(matters(name.rstrip("*")) for module in wanted().module for name in module.distributions)
