"""What TensorFlow, CuPy, JAX and ONNX Runtime are asked, on stand-ins for their builds."""

from types import SimpleNamespace
from typing import Any

import pytest

from gpudoctor.workers import ask_cupy, ask_jax, ask_onnxruntime, ask_tensorflow
from tests.workers.standin import Kept, module, raises


class CUDARuntimeError(RuntimeError):
    """As CuPy's: it carries CUDA's number."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def said(ask: Any, framework: Any) -> dict[str, Any]:
    teller = Kept()
    ask(teller, framework)
    return teller.said


def tensorflow(devices: list[Any], **build: Any) -> Any:
    return module(
        sysconfig__get_build_info=lambda: build,
        config__list_physical_devices=lambda kind: devices if kind == "GPU" else [],
        config__experimental__get_device_details=lambda _d: {"device_name": "A10", "compute_capability": (8, 6)},
    )


def test_tensorflow_lists_gpus_and_its_build() -> None:
    build = {"is_cuda_build": True, "cuda_version": "12.5.1", "cuda_compute_capabilities": ["sm_60"]}
    facts = said(ask_tensorflow.ask, tensorflow([object()], **build))
    assert (facts["built_for"], facts["archs"], facts["count"], facts["available"]) == ("12.5.1", ["sm_60"], 1, True)
    assert (facts["devices"][0]["name"], facts["devices"][0]["capability"]) == ("A10", "8.6")


def test_tensorflow_compiles_only_for_flags_of_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA reads them when it first compiles, and aborts at one that it does not know."""
    stages = ["devices"]
    for flags in ("", "--xla_gpu_autotune_level=2"):
        monkeypatch.setenv("XLA_FLAGS", flags)
        teller = Kept()
        ask_tensorflow.ask(teller, tensorflow([], is_cuda_build=True))
        assert teller.stages == stages
        stages = ["devices", "compile"]


def test_tensorflow_for_the_cpu_was_built_for_no_cuda() -> None:
    facts = said(ask_tensorflow.ask, tensorflow([], is_cuda_build=False, cuda_version="12"))
    assert (facts["built_for"], facts["available"]) == (None, False)


def cupy(**attributes: Any) -> Any:
    working = {
        "cuda__runtime__is_hip": False,
        "cuda__runtime__runtimeGetVersion": lambda: 12090,
        "cuda__runtime__driverGetVersion": lambda: 12040,
        "cuda__runtime__getDeviceCount": lambda: 1,
        "cuda__runtime__getDeviceProperties": lambda _i: {"name": b"T4", "major": 7, "minor": 5, "totalGlobalMem": 9},
        "cuda__get_cuda_path": lambda: "/usr/local/cuda",
        "cuda__nvrtc__getVersion": lambda: (12, 9),
        "is_available": lambda: True,
    }
    return module(**{**working, **attributes})


def test_cupy_lists_gpus_and_loads_its_compiler() -> None:
    facts = said(ask_cupy.ask, cupy())
    assert facts["devices"] == [{"index": 0, "name": "T4", "capability": "7.5", "gfx": None, "memory": 9}]
    assert (facts["built_for"], facts["driver_cuda"], facts["nvrtc"]) == ("12.9", "12.4", "12.9")


def test_cupy_tells_no_driver_from_an_old_one() -> None:
    text = "cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version"
    facts = said(
        ask_cupy.ask,
        cupy(
            cuda__runtime__getDeviceCount=raises(CUDARuntimeError(35, text)),
            cuda__runtime__driverGetVersion=lambda: 0,
        ),
    )
    assert (facts["error"], facts["error_code"], facts["driver_cuda"]) == (text, 35, None)
    assert (facts["count"], facts["available"], facts["devices"]) == (0, False, [])


def test_cupy_keeps_why_nvrtc_does_not_load() -> None:
    text = "CuPy failed to load libnvrtc.so.12: OSError: libnvrtc.so.12: cannot open shared object file"
    facts = said(ask_cupy.ask, cupy(cuda__nvrtc__getVersion=raises(RuntimeError(text))))
    assert (facts["nvrtc_error"], facts["nvrtc"]) == (text, {"unknown": f"RuntimeError: {text}"})
    assert facts["error"] is None


def test_cupy_for_rocm_reads_hip_numbers() -> None:
    amd = {"name": b"MI210", "major": 9, "minor": 0, "totalGlobalMem": 9, "gcnArchName": b"gfx90a:sramecc+"}
    facts = said(
        ask_cupy.ask,
        cupy(
            cuda__runtime__is_hip=True,
            cuda__runtime__runtimeGetVersion=lambda: 60_443_482,
            cuda__runtime__getDeviceProperties=lambda _i: amd,
        ),
    )
    assert (facts["built_for"], facts["driver_cuda"]) == ("6.4", None)
    assert (facts["devices"][0]["gfx"], facts["devices"][0]["capability"]) == ("gfx90a", None)
    assert "nvrtc" not in facts


CPU = SimpleNamespace(platform="cpu", device_kind="cpu")
GPU = SimpleNamespace(platform="gpu", device_kind="NVIDIA A100", compute_capability="8.0")


def jax(devices: Any, **attributes: Any) -> Any:
    return module(devices=devices, **attributes)


def test_jax_lists_gpus() -> None:
    facts = said(ask_jax.ask, jax(lambda *_: [GPU]))
    assert (facts["count"], facts["available"], facts["error"]) == (1, True, None)
    assert (facts["devices"][0]["name"], facts["devices"][0]["capability"]) == ("NVIDIA A100", "8.0")


def test_jax_on_the_cpu_tells_what_a_program_gets_that_insists() -> None:
    def devices(backend: str | None = None) -> list[Any]:
        if backend:
            raise RuntimeError("Unknown backend: 'gpu' requested")
        return [CPU]

    facts = said(ask_jax.ask, jax(devices))
    assert (facts["count"], facts["available"], facts["error"]) == (0, False, "Unknown backend: 'gpu' requested")


def test_jax_prefers_its_own_record_of_why_the_backend_failed() -> None:
    errors = {"tpu": "no TPU", "cuda": "FAILED_PRECONDITION: No visible GPU devices."}
    facts = said(ask_jax.ask, jax(raises(AssertionError()), _src__xla_bridge=SimpleNamespace(_backend_errors=errors)))
    assert facts["error"] == "FAILED_PRECONDITION: No visible GPU devices."


def test_jax_with_a_bare_assertion_gives_its_type() -> None:
    assert said(ask_jax.ask, jax(raises(AssertionError())))["error"] == "AssertionError"


def onnxruntime(listed: list[str], session: Any = None) -> Any:
    return module(get_available_providers=lambda: listed, InferenceSession=session)


def test_onnxruntime_believes_the_session_and_not_the_list() -> None:
    def session(model: bytes, providers: list[str]) -> Any:
        assert model == ask_onnxruntime.identity_model()
        assert providers == ["CUDAExecutionProvider", "CPUExecutionProvider"]
        return SimpleNamespace(get_providers=lambda: ["CPUExecutionProvider"])

    facts = said(ask_onnxruntime.ask, onnxruntime(["CUDAExecutionProvider", "CPUExecutionProvider"], session))
    assert (facts["available"], facts["providers"], facts["error"]) == (False, ["CPUExecutionProvider"], None)


def test_onnxruntime_for_the_cpu_makes_no_session() -> None:
    facts = said(ask_onnxruntime.ask, onnxruntime(["CPUExecutionProvider"]))
    assert (facts["available"], facts["providers"]) == (False, ["CPUExecutionProvider"])


def test_onnxruntime_keeps_the_text_of_a_session_that_fails() -> None:
    failing = raises(RuntimeError("CUDA failure 100: no CUDA-capable device is detected"))
    facts = said(ask_onnxruntime.ask, onnxruntime(["CUDAExecutionProvider"], failing))
    assert facts["error"] == "CUDA failure 100: no CUDA-capable device is detected"
    assert "unknown" in facts["providers"]
