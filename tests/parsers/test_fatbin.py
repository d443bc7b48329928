"""GPU code is counted by architecture, and a handful of kernels does not count as support."""

import io
import struct

import pytest

from gpudoctor.parsers.elf import NotElfError
from gpudoctor.parsers.fatbin import covering, kernels

from .elves import fatbin, library


def counted(section: bytes) -> dict[str, int]:
    """Return the counts of a library with this section."""
    return kernels(io.BytesIO(library(named={".text": b"code", ".nv_fatbin": section})))


def test_entries_are_named_and_counted() -> None:
    first = fatbin((2, 80, 0x11), (2, 90, 0x100011), (2, 100, 0x1200011 & ~0x100000), (1, 90, 0x8011))
    second = fatbin((2, 80, 0x11), (1, 121, 0x108011), header=96)
    assert counted(first + second) == {"sm_80": 2, "sm_90a": 1, "sm_100f": 1, "compute_90": 1, "compute_121a": 1}


def test_padding_between_containers() -> None:
    one = fatbin((2, 75, 0))
    assert counted(one + bytes(24) + one + bytes(4000) + one) == {"sm_75": 3}


def test_no_gpu_code() -> None:
    assert kernels(io.BytesIO(library(named={".text": b"code"}))) == {}


def test_stripped_headers_are_not_an_absence() -> None:
    with pytest.raises(NotElfError, match="stripped"):
        kernels(io.BytesIO(library()))


@pytest.mark.parametrize("cut", [1, 17, 60, 79])
def test_a_cut_section_gives_what_stands_before(cut: int) -> None:
    whole = fatbin((2, 80, 0), (2, 90, 0))
    assert counted(whole[:-cut]) == {"sm_80": 1, **({"sm_90": 1} if cut <= 32 else {})}


def test_sizes_that_go_nowhere_end() -> None:
    entry = struct.pack("<HHIQ12xI8xQ", 2, 0x101, 0, 0, 80, 0)
    container = struct.pack("<IHHQ", 0xBA55ED50, 1, 0, 1 << 60)
    assert counted(container + entry) == {}
    assert counted(container * 50) == {}


def test_kinds_of_no_interest_are_passed_over() -> None:
    assert counted(fatbin((2, 80, 0), (8, 80, 0), (1, 80, 0))) == {"sm_80": 1, "compute_80": 1}


@pytest.mark.parametrize(
    ("counts", "names"),
    [
        ({}, ()),
        ({"sm_80": 476, "sm_90": 476, "sm_90a": 4, "sm_89": 1}, ("sm_80", "sm_90")),
        ({"sm_75": 1, "sm_80": 33}, ("sm_80",)),
        ({"sm_80": 10, "sm_90": 5, "sm_100": 4}, ("sm_80", "sm_90")),
        ({"compute_52": 1}, ("compute_52",)),
    ],
)
def test_covering(counts: dict[str, int], names: tuple[str, ...]) -> None:
    assert covering(counts) == names
