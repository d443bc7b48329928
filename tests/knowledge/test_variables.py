"""Variables for debugging, and those that are read strictly."""

import pytest

from gpudoctor.knowledge.variables import allocator_option, debugging, triton_ptxas


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("CUDA_LAUNCH_BLOCKING", "1", True),
        ("CUDA_LAUNCH_BLOCKING", " 1 ", True),
        ("CUDA_LAUNCH_BLOCKING", "0", False),
        ("CUDA_LAUNCH_BLOCKING", "", False),
        ("JAX_DISABLE_JIT", "True", True),
        ("JAX_DISABLE_JIT", "false", False),
        ("NCCL_DEBUG", "INFO", False),
    ],
)
def test_debugging(name: str, value: str, found: bool) -> None:
    assert (debugging(name, value) is not None) is found


@pytest.mark.parametrize(
    ("name", "torch", "state"),
    [
        ("expandable_segments", "2.0.1+cu118", "too new"),
        ("expandable_segments", "2.1.0", "known"),
        ("roundup_bypass_threshold_mb", "2.2", "dropped"),
        ("max_split_size", "2.6.0", "unknown"),
        ("max_split_size", "2.15.0", "unsure"),
        ("per_process_memory_fraction", "2.6", "too new"),
    ],
)
def test_allocator_option(name: str, torch: str, state: str) -> None:
    assert allocator_option(name, torch) == state


@pytest.mark.parametrize(
    ("triton", "cuda"),
    [("3.7.1", "13.1"), ("3.6.0", "12.9"), ("3.5.0+git7416ffcb", "12.8"), ("2.1.0", "12.0"), ("1.1", None)],
)
def test_triton_ptxas(triton: str, cuda: str | None) -> None:
    assert triton_ptxas(triton) == cuda
