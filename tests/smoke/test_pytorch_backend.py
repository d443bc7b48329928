"""PyTorch's backend on a PyTorch that is played: which types a device has, which switches are set, what errors are."""

import math
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from gpudoctor.workers.smoke.backends import pytorch
from gpudoctor.workers.smoke.backends.pytorch.fused import A, B, C, worst
from gpudoctor.workers.smoke.backends.pytorch.precision import lacks_on_cpu, lacks_on_gpu, release, switched
from gpudoctor.workers.smoke.runner import Unsupported


class Switches:
    """A module of switches, that refuses names which it does not have as its release does."""

    def __init__(self, refusal: type[Exception] = AttributeError, **values: Any) -> None:
        self.__dict__.update(values)
        self.__dict__["refusal"] = refusal

    def __getattr__(self, name: str) -> Any:
        raise self.__dict__["refusal"](f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        getattr(self, name)
        self.__dict__[name] = value

    def all(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("refusal", "conv", "rnn")}


def old(refusal: type[Exception] = AttributeError) -> Any:
    """PyTorch 1.13: TF32 is allowed by two switches, and products in bf16 have none."""
    matmul = Switches(refusal, allow_tf32=False, allow_fp16_reduced_precision_reduction=True)
    cudnn = Switches(allow_tf32=True, benchmark=True, deterministic=False)
    return torch_with(matmul, cudnn, "1.13.1+cu117")


def new() -> Any:
    """PyTorch 2.13: to read `allow_tf32` after writing `fp32_precision` is an error, and to write it a warning."""
    matmul = Switches(
        RuntimeError,
        fp32_precision="none",
        allow_fp16_reduced_precision_reduction=True,
        allow_bf16_reduced_precision_reduction=True,
    )
    precise = [Switches(fp32_precision="tf32") for _ in range(2)]
    cudnn = Switches(RuntimeError, benchmark=True, deterministic=False, conv=precise[0], rnn=precise[1])
    return torch_with(matmul, cudnn, "2.13.0+cu130")


def torch_with(matmul: Switches, cudnn: Switches, version: str, **more: Any) -> Any:
    backends = SimpleNamespace(cuda=SimpleNamespace(matmul=matmul), cudnn=cudnn)
    return SimpleNamespace(backends=backends, __version__=version, **more)


@pytest.mark.parametrize("refusal", [AttributeError, AssertionError])
@pytest.mark.parametrize("dtype", ["fp32", "tf32", "bf16"])
def test_the_switches_of_old_releases(dtype: str, refusal: type[Exception]) -> None:
    torch = old(refusal)
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.all(), cudnn.all()
    with switched(torch, dtype):
        allowed = dtype == "tf32"
        assert matmul.all() == {"allow_tf32": allowed, "allow_fp16_reduced_precision_reduction": False}
        assert cudnn.all() == {"allow_tf32": allowed, "benchmark": False, "deterministic": True}
    assert (matmul.all(), cudnn.all()) == before


@pytest.mark.parametrize(("dtype", "precision"), [("fp32", "ieee"), ("tf32", "tf32"), ("fp16", "ieee")])
def test_the_switches_of_new_releases(dtype: str, precision: str) -> None:
    torch = new()
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.all(), cudnn.all(), cudnn.conv.all(), cudnn.rnn.all()
    with switched(torch, dtype):
        assert matmul.all() == {
            "fp32_precision": precision,
            "allow_fp16_reduced_precision_reduction": False,
            "allow_bf16_reduced_precision_reduction": False,
        }
        assert cudnn.all() == {"benchmark": False, "deterministic": True}
        assert cudnn.conv.all() == cudnn.rnn.all() == {"fp32_precision": precision}
    assert (matmul.all(), cudnn.all(), cudnn.conv.all(), cudnn.rnn.all()) == before


def test_the_switches_are_put_back_after_an_error() -> None:
    torch = old()
    with pytest.raises(ZeroDivisionError), switched(torch, "fp32"):
        raise ZeroDivisionError
    assert torch.backends.cudnn.all() == {"allow_tf32": True, "benchmark": True, "deterministic": False}


V100, T4, A100, A6000, L4, H100, B200 = (7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0)


@pytest.mark.parametrize(
    ("dtype", "capability", "message"),
    [
        ("fp32", V100, ""),
        ("fp16", V100, ""),
        ("bf16", T4, "bf16 needs compute capability 8.0, and this GPU has 7.5."),
        ("tf32", V100, "tf32 needs compute capability 8.0, and this GPU has 7.0."),
        ("bf16", A100, ""),
        ("tf32", A100, ""),
        ("fp8", A6000, "fp8 needs compute capability 8.9, and this GPU has 8.6."),
        ("fp8", L4, ""),
        ("fp8", H100, ""),
        ("fp8", B200, ""),
        ("bf16", None, ""),
        ("tf32", None, "PyTorch computes in TF32 on NVIDIA's GPUs."),
        ("fp8", None, "AMD GPUs use other fp8 formats, and this test supports only NVIDIA's."),
    ],
)
def test_which_types_a_gpu_has(dtype: str, capability: Any, message: str) -> None:
    torch = SimpleNamespace(__version__="2.13.0", float8_e4m3fn=object())
    assert lacks_on_gpu(torch, dtype, capability) == message


@pytest.mark.parametrize("torch", [SimpleNamespace(__version__="1.13.1"), SimpleNamespace(__version__="2.4.1")])
def test_fp8_in_releases_whose_product_has_other_arguments(torch: Any) -> None:
    torch.float8_e4m3fn = None
    message = f"PyTorch has fp8 matmul since 2.5, and this is {torch.__version__}."
    assert lacks_on_gpu(torch, "fp8", H100) == message


def test_an_error_on_the_cpu_is_told_in_pytorchs_words() -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeError("\"addmm_impl_cpu_\" not implemented for 'Half'\n")

    matrix = SimpleNamespace(to=lambda _: None)
    threads = {"get_num_threads": lambda: 2, "set_num_threads": lambda _: None}
    torch = SimpleNamespace(ones=lambda *_, **__: matrix, float16=None, mm=refuse, **threads)
    message = "PyTorch has no matmul in fp16 on the CPU: \"addmm_impl_cpu_\" not implemented for 'Half'."
    assert lacks_on_cpu(torch, "fp16") == message


@pytest.mark.parametrize(
    ("version", "found"), [("2.13.0+cpu", (2, 13)), ("2.4.0a0+git1234", (2, 4)), ("1.13.1", (1, 13)), ("2.10", (2, 10))]
)
def test_releases(version: str, found: tuple[int, ...]) -> None:
    assert release(SimpleNamespace(__version__=version)) == found


# -- the device ---------------------------------------------------------------------------------------------------


class FullError(RuntimeError):
    """torch.cuda.OutOfMemoryError."""


class AcceleratorError(RuntimeError):
    """torch.AcceleratorError, with CUDA's number."""

    def __init__(self, words: str, error_code: int) -> None:
        super().__init__(words)
        self.error_code = error_code


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A PyTorch that can be imported, and reaches no GPU."""

    def init() -> None:
        raise RuntimeError("Found no NVIDIA driver on your system.")

    cuda = SimpleNamespace(init=init, OutOfMemoryError=FullError)
    ones = SimpleNamespace(numpy=lambda: None)
    torch = SimpleNamespace(__version__="2.13.0", cuda=cuda, ones=lambda *_, **__: ones)
    monkeypatch.setitem(sys.modules, "torch", torch)
    return torch


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (FullError("CUDA out of memory. Tried to allocate 2.00 GiB."), "out-of-memory"),
        (FullError("Allocation on device"), "out-of-memory"),
        (AcceleratorError("CUDA error: an illegal memory access was encountered", 700), "device-error"),
        (AcceleratorError("CUDA error: unknown words", 719), "device-error"),
        (AcceleratorError("CUDA error: no kernel image is available for execution on the device", 209), "other"),
        (AcceleratorError("CUDA error: out of memory", 2), "out-of-memory"),
        (RuntimeError("CUDA error: device-side assert triggered"), "device-error"),
        (RuntimeError("HIP error: unspecified launch failure"), "device-error"),
        (RuntimeError("CUDA error: the launch timed out and was terminated"), "device-error"),
        (MemoryError("256 MiB cannot be pinned"), "out-of-memory"),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), "other"),
    ],
)
def test_what_an_error_is(played: Any, error: Exception, kind: str) -> None:
    assert pytorch.PytorchBackend({}).kind_of(error) == kind


def test_a_release_without_a_type_for_full_memory(played: Any) -> None:
    del played.cuda.OutOfMemoryError
    assert pytorch.PytorchBackend({}).kind_of(RuntimeError("CUDA out of memory.")) == "out-of-memory"


@pytest.mark.parametrize("error", [RuntimeError, AssertionError])
def test_no_gpu_is_told_in_pytorchs_words(played: Any, error: type[Exception]) -> None:
    def init() -> None:
        raise error("Torch not compiled with CUDA enabled")

    played.cuda.init = init
    with pytest.raises(Unsupported) as found:
        pytorch.PytorchBackend({"kind": "cuda", "device": 0}).start()
    assert str(found.value) == "PyTorch reaches no GPU: Torch not compiled with CUDA enabled."


def test_a_full_gpu_is_no_absent_one(played: Any) -> None:
    def init() -> None:
        raise RuntimeError("CUDA error: out of memory")

    played.cuda.init = init
    with pytest.raises(RuntimeError, match="out of memory"):
        pytorch.PytorchBackend({"kind": "cuda"}).start()


@pytest.mark.parametrize(("task", "count"), [({}, 8), ({"devices": 4}, 4), ({"devices": 16}, 8)])
def test_no_more_peers_than_the_task_permits(played: Any, task: dict[str, Any], count: int) -> None:
    played.cuda.device_count = lambda: 8
    backend = pytorch.PytorchBackend(task)
    backend.kind = "cuda"
    assert backend.peers() == count


def test_the_cpu_has_no_peers(played: Any) -> None:
    with pytest.raises(Unsupported, match="Copies between GPUs need two"):
        pytorch.PytorchBackend({}).peers()


# -- compiled kernels -----------------------------------------------------------------------------------------------


def test_the_formula_in_float64() -> None:
    right = [(x, 0.5 * z * (1 + math.erf(z / 2**0.5)) + C) for x in (-9.0, -0.4, 0.0, 3.0) for z in (A * x + B,)]
    assert worst(right) < 1e-15
    assert worst([(0.0, (0.5 * B * (1 + math.erf(B / 2**0.5)) + C) * 1.01)]) == pytest.approx(0.01)
    assert worst([*right, (1.0, math.nan)]) == math.inf
    tanh = 0.5 * 2.0 * (1 + math.tanh((2 / math.pi) ** 0.5 * (2.0 + 0.044715 * 8.0))) + C
    assert worst([(1.0, tanh)]) > 2e-5  # gelu by tanh is another function
