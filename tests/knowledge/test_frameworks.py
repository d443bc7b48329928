"""What TensorFlow, JAX, CuPy and ONNX Runtime need."""

import pytest

from gpudoctor.knowledge import cupy, jax, onnxruntime, tensorflow


def test_tensorflow_release() -> None:
    found = tensorflow.release("2.20.0")
    assert found is not None
    assert (found.cuda, found.cudnn, found.python, found.and_cuda) == ("12.5", "9.3", ("3.9", "3.13"), True)
    old = tensorflow.release("2.13.1")
    assert old is not None
    assert not old.and_cuda
    assert tensorflow.release("1.15") is None
    assert tensorflow.newest().version == "2.21"
    assert tensorflow.tensorflow().rules.last_windows_gpu == "2.10"


@pytest.mark.parametrize(
    ("number", "capability", "what"),
    [
        ("2.20.0", "8.6", "machine code"),
        ("2.20.0", "12.0", "ptx"),
        ("2.20.0", "9.0", "ptx"),
        ("2.20.0", "5.2", None),
        ("2.16.2", "5.2", "machine code"),
        ("1.0", "8.0", None),
    ],
)
def test_tensorflow_kernels(number: str, capability: str, what: str | None) -> None:
    assert tensorflow.kernels_for(number, capability) == what


def test_jax_plugin() -> None:
    assert jax.plugin("cuda12").driver == "525"
    assert jax.plugin("cuda13").lowest_capability == "7.5"
    assert jax.jax().rules.skip_check_variable == "JAX_SKIP_CUDA_CONSTRAINTS_CHECK"
    assert "gfx1100" in jax.jax().rocm.gfx.split()


@pytest.mark.parametrize(
    ("cuda", "number", "lowest"),
    [
        ("cuda12", "0.4.30", "9.0"),
        ("cuda12", "0.5.3", "9.1"),
        ("cuda12", "0.10.2", "9.8"),
        ("cuda12", "0.12.0.1", "9.10.2.21"),
        ("cuda13", "0.9.0", "9.12.0.46"),
        ("cuda13", "0.7.0", None),
        ("cuda12", "0.3", None),
    ],
)
def test_jax_lowest_cudnn(cuda: jax.Cuda, number: str, lowest: str | None) -> None:
    assert jax.lowest_cudnn(cuda, number) == lowest


@pytest.mark.parametrize(
    ("number", "python"), [("0.4.30", "3.9"), ("0.6.2", "3.10"), ("0.7.2", "3.11"), ("0.12", "3.12")]
)
def test_jax_lowest_python(number: str, python: str) -> None:
    assert jax.lowest_python(number) == python


@pytest.mark.parametrize(
    ("capability", "driver_cuda", "name"),
    [
        ("8.6", "13.0", "cuda13"),
        ("8.6", "12.4", "cuda12"),
        ("6.1", "13.0", "cuda12"),
        ("5.0", "13.0", None),
        ("8.0", "11.8", None),
        ("12.0", None, "cuda13"),
    ],
)
def test_jax_plugin_for(capability: str, driver_cuda: str | None, name: str | None) -> None:
    assert jax.plugin_for(capability, driver_cuda) == name


@pytest.mark.parametrize(
    ("major", "name"), [(11, "cupy-cuda11x"), (12, "cupy-cuda12x"), (13, "cupy-cuda13x"), (9, None)]
)
def test_cupy_package_for(major: int, name: str | None) -> None:
    found = cupy.package_for(major)
    assert (found.name if found else None) == name


@pytest.mark.parametrize(
    ("capability", "driver_cuda", "name"),
    [
        ("8.6", "13.1", "cupy-cuda13x"),
        ("8.6", "12.2", "cupy-cuda12x"),
        ("6.1", "13.0", "cupy-cuda12x"),
        ("3.5", "11.4", "cupy-cuda11x"),
        ("12.0", "12.8", "cupy-cuda12x"),
        ("2.0", "9.1", None),
    ],
)
def test_cupy_package_for_gpu(capability: str, driver_cuda: str, name: str | None) -> None:
    found = cupy.package_for_gpu(capability, driver_cuda)
    assert (found.name if found else None) == name


def test_cupy_rest() -> None:
    assert cupy.kernels_for("cupy-cuda13x", "6.1") is None
    assert cupy.kernels_for("cupy-cuda12x", "6.1") == "machine code"
    assert cupy.kernels_for("cupy-cuda99x", "8.0") is None
    assert "cupy-cuda12x" in cupy.exclusive()


@pytest.mark.parametrize(
    ("number", "cuda", "cudnn"),
    [("1.18.1", "11", "8"), ("1.19.0", "12", "9"), ("1.26.0", "12", "9"), ("1.27.0", "13", "9"), ("1.40", "13", "9")],
)
def test_onnxruntime_release(number: str, cuda: str, cudnn: str) -> None:
    found = onnxruntime.release(number)
    assert found is not None
    assert (found.cuda, found.cudnn) == (cuda, cudnn)


def test_onnxruntime_rest() -> None:
    assert onnxruntime.release("1.10") is None
    assert onnxruntime.newest_for(12) == "<1.27"
    assert onnxruntime.newest_for(13) == ""
    assert onnxruntime.newest_for(11) == "<1.19"
    assert onnxruntime.newest_for(10) is None
    assert onnxruntime.kernels_for("1.27.0", "6.1") is None
    assert onnxruntime.kernels_for("1.26.0", "6.1") == "machine code"
    assert onnxruntime.can_preload("1.21.0")
    assert not onnxruntime.can_preload("1.20.2")
    assert "onnxruntime-gpu" in onnxruntime.exclusive()
