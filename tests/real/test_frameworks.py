"""Real frameworks on a machine without a driver: what their files say, and the exact reason why they use no GPU."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.facts import Framework, LiveFramework
from gpudoctor.maybe import Unknown

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(1500)]
Look = Callable[..., tuple[Framework, ...]]

NO_DRIVER = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from "
    "http://www.nvidia.com/Download/index.aspx"
)
INSUFFICIENT = "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version"


def only(found: tuple[Framework, ...]) -> tuple[Framework, LiveFramework]:
    """The one framework of an environment, and what it said: imported to the end, and as its files say."""
    (framework,) = found
    live = framework.live
    assert live is not None
    assert (live.stage, live.exit_code, live.import_error) == ("done", 0, None)
    assert live.version == framework.version
    assert live.file == f"{framework.location}/__init__.py"
    return framework, live


def test_pytorch_for_the_cpu(look: Look) -> None:
    framework, live = only(look("torchcpu", "torch==2.13.0+cpu"))
    assert (framework.version, framework.variant, framework.cuda) == ("2.13.0+cpu", "cpu", None)
    assert (framework.archs, framework.needs) == ((), ())
    assert (live.built_for, live.available, live.count) == (None, False, 0)
    assert (live.error, live.error_code, live.libraries) == ("Torch not compiled with CUDA enabled", None, ())


def test_pytorch_for_cuda(look: Look) -> None:
    framework, live = only(look("torchcuda", "torch"))
    assert framework.variant == "cuda"
    assert framework.cuda == live.built_for
    assert framework.archs == live.archs
    assert set(framework.kernels) == set(framework.archs)  # type: ignore[arg-type]
    assert (live.available, live.count, live.error) == (False, 0, NO_DRIVER)
    assert isinstance(framework.cudnn, str)
    assert isinstance(live.cudnn, str)
    assert framework.cudnn.startswith(live.cudnn)


def test_the_loader_did_what_the_probe_foresaw(look: Look) -> None:
    framework, live = only(look("torchcuda", "torch"))
    assert isinstance(framework.needs, tuple)
    assert isinstance(live.libraries, tuple)
    foreseen = {need.soname: os.path.realpath(need.path) for need in framework.needs if need.path}
    mapped = {os.path.basename(path): os.path.realpath(path) for path in live.libraries}
    both = foreseen.keys() & mapped.keys()
    assert "libcudnn.so.9" in both
    assert len(both) >= 10
    assert {name: foreseen[name] for name in both} == {name: mapped[name] for name in both}


def test_tensorflow(look: Look) -> None:
    framework, live = only(look("tf", "tensorflow"))
    assert (framework.variant, framework.cuda) == ("cuda", live.built_for)
    assert framework.archs == live.archs
    assert (live.available, live.count, live.devices) == (False, 0, ())
    assert live.error == "failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)"
    assert live.error_code == 303
    assert isinstance(framework.needs, tuple)
    assert {need.soname for need in framework.needs if need.path is None} >= {"libcublas.so.12", "libcudnn.so.9"}


def test_cupy(look: Look) -> None:
    framework, live = only(look("cupy", "cupy-cuda12x"))
    assert (framework.distribution, framework.cuda, framework.variant) == ("cupy-cuda12x", "12", "cuda")
    assert str(live.built_for).startswith("12.")
    assert (live.available, live.error, live.error_code) == (False, INSUFFICIENT, 35)
    assert live.driver_cuda is None  # so that no driver is not taken for an old one
    assert isinstance(framework.needs, tuple)
    assert framework.needs[0].soname == "libnvrtc.so.12"
    assert (framework.needs[0].path is None) == (live.nvrtc_error is not None)


def test_jax_for_the_cpu(look: Look) -> None:
    framework, live = only(look("jax", "jax"))
    assert (framework.variant, framework.cuda, framework.plugin) == ("cpu", None, None)
    assert framework.backend_version == framework.version
    assert (live.available, live.count) == (False, 0)
    assert str(live.error).startswith("Unknown backend: 'gpu' requested")


def test_jax_is_asked_for_what_jax_platforms_allows(look: Look) -> None:
    (framework,) = look("jax", "jax", JAX_PLATFORMS="cuda")
    assert framework.live is not None
    assert framework.live.available is False
    assert isinstance(framework.live.error, str)
    assert framework.live.error


@pytest.mark.large
def test_jax_for_cuda(look: Look) -> None:
    framework, live = only(look("jaxcuda", "jax[cuda13]"))
    assert (framework.cuda, framework.plugin) == ("13", "jax-cuda13-plugin")
    assert framework.plugin_version == framework.backend_version
    assert live.error == "RuntimeError: Unable to load cuPTI. Is it installed?"
    assert isinstance(framework.needs, tuple)
    assert [need.soname for need in framework.needs if need.path is None] == []


def test_onnxruntime(look: Look) -> None:
    framework, live = only(look("ort", "onnxruntime-gpu"))
    assert (framework.distribution, framework.variant) == ("onnxruntime-gpu", "cuda")
    assert isinstance(framework.cuda, str)
    assert isinstance(live.listed, tuple)
    assert "CUDAExecutionProvider" in live.listed  # it was built, which says nothing of this machine
    assert (live.providers, live.available) == (("CPUExecutionProvider",), False)
    missing = f"libcublasLt.so.{framework.cuda.partition('.')[0]}: cannot open shared object file"
    assert missing in str(live.error)
    assert isinstance(framework.needs, tuple)
    assert f"libcublasLt.so.{framework.cuda.partition('.')[0]}" in {n.soname for n in framework.needs if not n.path}


def test_nothing_is_written_into_the_environment(look: Look, interpreter: Callable[..., str], folder: Path) -> None:
    interpreter("ort-untouched", "onnxruntime-gpu")  # uv compiles no bytecode, so an import would like to
    before = set((folder / "ort-untouched").rglob("*"))
    only(look("ort-untouched", "onnxruntime-gpu"))
    assert set((folder / "ort-untouched").rglob("*")) == before
    assert not list((folder / "ort-untouched").rglob("*/numpy/__pycache__"))


def test_another_frameworks_absence_is_no_fact(look: Look) -> None:
    _, live = only(look("ort", "onnxruntime-gpu"))
    assert isinstance(live.count, Unknown)
