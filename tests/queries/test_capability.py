"""Architectures that a framework was compiled for, against GPUs."""

import pytest

from gpudoctor.queries.capability import capabilities, covers, gpu_words, side, sm, target, words
from tests.builders import gpu


@pytest.mark.parametrize(
    ("arch", "expected"),
    [
        ("sm_86", ("sm", "8.6")),
        ("sm_120", ("sm", "12.0")),
        ("sm_90a", ("sm", "9.0")),
        ("sm_100f", ("sm", "10.0")),
        ("compute_90", ("compute", "9.0")),
        ("gfx1100", None),
        ("sm_", None),
        ("sm_9", None),  # one digit is no capability
        ("sm_xx", None),
        ("gfx_90", None),
    ],
)
def test_target(arch: str, expected: tuple[str, str] | None) -> None:
    assert target(arch) == expected


@pytest.mark.parametrize(
    ("archs", "capability", "expected"),
    [
        (("sm_80", "sm_90"), "8.9", "machine code"),
        (("sm_86",), "8.0", None),
        (("sm_90a",), "9.0", "machine code"),
        (("sm_100a",), "10.3", None),
        (("sm_100f",), "10.3", "machine code"),
        (("sm_80", "compute_80"), "12.0", "ptx"),
        (("sm_75",), "6.1", None),
        ((), "8.0", None),
    ],
)
def test_covers(archs: tuple[str, ...], capability: str, expected: str | None) -> None:
    assert covers(archs, capability) == expected


def test_compute_of_tensorflow_is_machine_code_too() -> None:
    assert covers(("sm_80", "compute_90"), "9.0") == "ptx"
    assert covers(("sm_80", "compute_90"), "9.0", both=True) == "machine code"


def test_words() -> None:
    archs = ("sm_90", "sm_75", "sm_120")
    assert capabilities(archs) == ["7.5", "9.0", "12.0"]
    assert [side(archs, c) for c in ("12.1", "6.1", "8.0")] == ["newer", "older", "between"]
    assert words(("sm_80", "sm_90"), "12.0") == "it covers only up to sm_90"
    assert words(("sm_80",), "6.1") == "its kernels start at sm_80; support for older GPUs was dropped from this build"
    assert words(archs, "8.0") == "it was compiled only for sm_75, sm_90, sm_120"
    assert words((), "8.0") == "it has no code for NVIDIA GPUs"
    assert sm("12.0") == "sm_120"
    assert gpu_words(gpu()) == "GPU 0 (NVIDIA GeForce RTX 4090, Ada, compute capability 8.9, sm_89)"
