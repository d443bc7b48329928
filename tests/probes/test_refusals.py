"""The sentences were printed by real releases without a driver, or with one that refused with the number named."""

import pytest

from gpudoctor.probes.frameworks.refusals import number, refusal

TF_NO_DRIVER = """\
I0000 00:00:1795227236.996862   15692 cudart_stub.cc:31] Could not find cuda drivers on your machine, GPU will not be used.
E0000 00:00:1795227237.936172   15692 cuda_platform.cc:52] failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)
"""  # noqa: E501
TF_NO_LIBRARIES = """\
W tensorflow/core/common_runtime/gpu/gpu_device.cc:2343] Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above are installed properly
Skipping registering GPU devices...
"""  # noqa: E501
JAX_NO_DRIVER = """\
Jax plugin configuration error: Exception when calling jax_plugins.xla_cuda13.initialize()
RuntimeError: jaxlib/cuda/versions_helpers.cc:52: operation cuptiGetVersion(&version) failed: Unknown CUPTI error 999.
The above exception was the direct cause of the following exception:
RuntimeError: Unable to load cuPTI. Is it installed?
"""
JAX_CUINIT = (
    "RuntimeError: jaxlib/cuda/versions_helpers.cc:135: operation cuInit(0) failed: CUDA_ERROR_SYSTEM_NOT_READY\n"
)
JAX_NO_PLUGIN = (
    "WARNING:jax._src.xla_bridge:An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not "
    "installed. Falling back to cpu.\n"
)
ORT = (
    "\x1b[1;31m2026-11-21 [E:onnxruntime:Default] [ONNXRuntimeError] : 1 : FAIL : Failed to load library "
    "/x/libonnxruntime_providers_cuda.so with error: libcublasLt.so.13: cannot open shared object file\n\x1b[m\n"
    "\x1b[0;93m[W:onnxruntime] Failed to create CUDAExecutionProvider. Require cuDNN 9.* and CUDA 13.*.\n\x1b[m"
)


@pytest.mark.parametrize(
    ("framework", "stderr", "error", "sentence"),
    [
        (
            "tensorflow",
            TF_NO_DRIVER,
            None,
            "failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)",
        ),
        (
            "tensorflow",
            TF_NO_LIBRARIES,
            None,
            "Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned above are installed "
            "properly",
        ),
        ("tensorflow", "", None, None),
        (
            "jax",
            JAX_NO_DRIVER,
            "Unknown backend: 'gpu' requested",
            "RuntimeError: Unable to load cuPTI. Is it installed?",
        ),
        ("jax", JAX_CUINIT, "AssertionError", "operation cuInit(0) failed: CUDA_ERROR_SYSTEM_NOT_READY"),
        (
            "jax",
            JAX_NO_PLUGIN,
            "Unknown backend: 'gpu' requested",
            "An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to "
            "cpu.",
        ),
        ("jax", "", "Unknown backend: 'gpu' requested", "Unknown backend: 'gpu' requested"),
        (
            "jax",
            JAX_NO_PLUGIN,
            "FAILED_PRECONDITION: No visible GPU devices.",
            "FAILED_PRECONDITION: No visible GPU devices.",
        ),
        (
            "onnxruntime",
            ORT,
            None,
            "Failed to load library /x/libonnxruntime_providers_cuda.so with error: libcublasLt.so.13: cannot open "
            "shared object file",
        ),
        ("torch", "RuntimeError: noise", "No CUDA GPUs are available", "No CUDA GPUs are available"),
    ],
)
def test_finds_the_sentence(framework: str, stderr: str, error: str | None, sentence: str | None) -> None:
    assert refusal(framework, stderr, error) == sentence


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("that might have already set an error? Error 802: system not yet initialized", 802),
        ("CUDA failure 100: no CUDA-capable device is detected ; GPU=0", 100),
        ("Failed call to cuInit: UNKNOWN ERROR (303)", 303),
        ("operation cuInit(0) failed: CUDA_ERROR_SYSTEM_NOT_READY", 802),
        ("failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected", 100),
        ("failed call to cuInit: CUDA_ERROR_OF_THE_FUTURE: who knows", None),
        ("found version 12040", None),
        ("No CUDA GPUs are available", None),
        (None, None),
    ],
)
def test_finds_the_number(text: str | None, code: int | None) -> None:
    assert number(text) == code
