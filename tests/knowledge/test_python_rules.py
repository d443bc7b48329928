"""Rules between Python packages, host compilers, and what import errors mean."""

import pytest

from gpudoctor.knowledge.host_compilers import newest_gcc
from gpudoctor.knowledge.import_errors import hint, import_errors
from gpudoctor.knowledge.python_rules import (
    computes_with_jax,
    ctranslate2_cudnn,
    cuda_in_name,
    first_for_numpy2,
    has_floor,
    links_libcuda,
    lowest_capability,
    release_for_torch,
    torch_of_torchcodec,
    torchvision_for,
    wants_cuda_minor,
)


@pytest.mark.parametrize(
    ("torch", "expected"),
    [("2.5.1", "0.20.1"), ("2.7.0", "0.22.0"), ("2.10.0", "0.25.0"), ("2.0.1", "0.15.2"), ("1.9.0", None)],
)
def test_torchvision_for(torch: str, expected: str | None) -> None:
    assert torchvision_for(torch) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [("4.4.0", 8), ("3.24.0", 8), ("4.5.0", 9), ("4.6.2", 9), ("4.6.3", None), ("4.10.1", None)],
)
def test_ctranslate2_cudnn(version: str, expected: int | None) -> None:
    assert ctranslate2_cudnn(version) == expected


@pytest.mark.parametrize(
    ("cuda", "expected"), [("11.8", 11), ("12.3", 12), ("12.4", 13), ("12.9", 14), ("13.2", 15), ("10.2", None)]
)
def test_newest_gcc(cuda: str, expected: int | None) -> None:
    assert newest_gcc(cuda) == expected


@pytest.mark.parametrize(("triton", "expected"), [("2.1.0", True), ("3.5.1", True), ("3.6.0", False)])
def test_links_libcuda(triton: str, expected: bool) -> None:
    assert links_libcuda(triton) is expected


@pytest.mark.parametrize(
    ("torchaudio", "expected"), [("2.0.2", True), ("2.9.1+cu128", True), ("2.10.0", False), ("0.7", False)]
)
def test_wants_cuda_minor(torchaudio: str, expected: bool) -> None:
    assert wants_cuda_minor(torchaudio) is expected


def test_names() -> None:
    assert computes_with_jax("numpyro")
    assert not computes_with_jax("transformers")
    assert (first_for_numpy2("torch"), first_for_numpy2("transformers")) == ("2.3", None)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent", "MKL"),
        ("libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12", "libnvJitLink"),
        ("libstdc++.so.6: version `GLIBCXX_3.4.30' not found", "libstdc++"),
        ("/lib64/libc.so.6: version `GLIBC_2.29' not found", "glibc"),
        ("libgomp.so.1: cannot allocate memory in static TLS block", "thread-local"),
        ("x.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationESs", "extension"),
        ("libtorch_cuda.so: undefined symbol: ncclCommResume", "NCCL"),
        ("libcudnn.so.9: cannot open shared object file: No such file", "CUDA library"),
        ("libmpi_cxx.so.40: cannot open shared object file: No such file", "MPI"),
        ("libnuma.so.1: cannot open shared object file: No such file", "slim container"),
        ("libamdhip64.so.6: cannot open shared object file: No such file", "system's ROCm"),
        ("libMIOpen.so.1: cannot open shared object file: No such file", "system's ROCm"),
    ],
)
def test_hint(text: str, word: str) -> None:
    found = hint(text)
    assert found is not None
    assert word in found.cause


def test_no_hint() -> None:
    assert hint("something else") is None
    assert all(row.cause for row in import_errors().hint)


@pytest.mark.parametrize(
    ("name", "number", "expected"),
    [
        ("flash-attn", "2.8.3", "8.0"),
        ("flash-attn", "1.0.9", None),
        ("vllm", "0.20.1", "7.0"),
        ("vllm", "0.21.0", "7.5"),
        ("cudf-cu12", "25.12.0", "7.0"),
        ("cudf-cu13", "25.12.0", "7.5"),
        ("cudf-cu12", "23.12.0", None),
        ("numpy", "2.1.0", None),
    ],
)
def test_lowest_capability(name: str, number: str, expected: str | None) -> None:
    assert lowest_capability(name, number) == expected
    assert has_floor(name) is (name != "numpy")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cudf-cu12", ("cudf", "12")),
        ("nvidia-dali-cuda130", ("nvidia-dali", "13")),
        ("tensorrt-cu13", ("tensorrt", "13")),
        ("faiss-gpu-cu11", ("faiss-gpu", "11")),
        ("faiss-gpu", None),
        ("nvidia-cublas-cu12", None),
        ("cupy-cuda12x", None),
        ("cudf-cuda", None),
    ],
)
def test_cuda_in_name(name: str, expected: tuple[str, str] | None) -> None:
    assert cuda_in_name(name) == expected


@pytest.mark.parametrize(
    ("codec", "expected"), [("0.1.1", "2.5"), ("0.9.1+cu128", "2.9"), ("0.12.0", None), ("odd", None)]
)
def test_torch_of_torchcodec(codec: str, expected: str | None) -> None:
    assert torch_of_torchcodec(codec) == expected


@pytest.mark.parametrize(
    ("package", "torch", "expected"),
    [
        ("fbgemm-gpu", "2.12.0+cu130", "1.7"),
        ("fbgemm-gpu-cpu", "2.8.0", "1.3"),
        ("fbgemm-gpu-nightly", "2.8.0", None),
        ("fbgemm-gpu", "2.99.0", None),
        ("flash-attn", "2.8.0", None),
    ],
)
def test_release_for_torch(package: str, torch: str, expected: str | None) -> None:
    assert release_for_torch(package, torch) == expected
