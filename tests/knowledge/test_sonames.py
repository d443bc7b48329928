"""Names of CUDA's libraries by CUDA major."""

import pytest

from gpudoctor.knowledge.sonames import finds_wheels, library_of, opened, soname_of, sonames, stems_of


@pytest.mark.parametrize(
    ("stem", "cuda", "cudnn", "name"),
    [
        ("libcudart", "11", None, "libcudart.so.11.0"),
        ("libcusolver", "12", None, "libcusolver.so.11"),
        ("libcusolver", "13", None, "libcusolver.so.12"),
        ("libcufft", "12", None, "libcufft.so.11"),
        ("libnvJitLink", "11", None, None),
        ("libcudnn", "12", "9", "libcudnn.so.9"),
        ("libcudnn", "12", None, None),
        ("libfuture", "12", None, None),
        ("libcublas", "14", None, None),
    ],
)
def test_sonames_by_major(stem: str, cuda: str, cudnn: str | None, name: str | None) -> None:
    assert soname_of(stem, cuda, cudnn) == name


@pytest.mark.parametrize(
    ("soname", "wheel"),
    [
        ("libcublasLt.so.12", "nvidia-cublas"),
        ("libcudnn_ops_infer.so.8", "nvidia-cudnn"),
        ("libcudart-d0da41ae.so.11.0", "nvidia-cuda-runtime"),
        ("libcudnn.so.9", "nvidia-cudnn"),
    ],
)
def test_a_library_knows_its_wheel(soname: str, wheel: str) -> None:
    library = library_of(soname)
    assert library is not None
    assert library.wheel == wheel


@pytest.mark.parametrize("soname", ["libc.so.6", "libcuda.so.1", "libtorch_cuda.so"])
def test_other_libraries_have_none(soname: str) -> None:
    assert library_of(soname) is None


def test_wheels_bring_libraries() -> None:
    assert stems_of("nvidia-cublas-cu12") == stems_of("nvidia-cublas") == ("libcublas", "libcublasLt")
    assert stems_of("nvidia-ml-py") == ()


@pytest.mark.parametrize(
    ("framework", "version", "finds"),
    [
        ("tensorflow", "2.13.1", False),
        ("tensorflow", "2.15.1", True),
        ("tensorflow", "2.16.1", False),
        ("tensorflow", "2.17.0", True),
        ("cupy", "13.6.0", False),
        ("cupy", "14.0.1", True),
    ],
)
def test_who_finds_the_wheels(framework: str, version: str, finds: bool) -> None:
    assert finds_wheels(framework, version) is finds


def test_what_is_opened_exists_in_the_table() -> None:
    for framework, stems in sonames().opened.items():
        assert len(opened(framework, "12", "9")) == len(stems), framework
