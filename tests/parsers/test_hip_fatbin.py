"""The targets in HIP's bundles of GPU code."""

import io
import struct

import pytest

from gpudoctor.parsers.elf import NotElfError
from gpudoctor.parsers.hip_fatbin import targets

from .elves import bundle, library

HOST = "host-x86_64-unknown-linux--"


def seen(section: bytes) -> tuple[str, ...]:
    return targets(io.BytesIO(library(named={".text": b"code", ".hip_fatbin": section})))


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        ((HOST, "hipv4-amdgcn-amd-amdhsa--gfx1100", "hipv4-amdgcn-amd-amdhsa--gfx1151"), ("gfx1100", "gfx1151")),
        (("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"), ("gfx90a",)),
        (("hip-amdgcn-amd-amdhsa--gfx906",), ("gfx906",)),
        (("hipv4-amdgcn-amd-amdhsa--gfx11-generic",), ("gfx11-generic",)),
        ((HOST,), ()),
        (("hipv4-amdgcn-amd-amdhsa--amdgcnspirv",), ()),
    ],
)
def test_ids(ids: tuple[str, ...], found: tuple[str, ...]) -> None:
    assert seen(bundle(*ids)) == found


def test_each_source_file_has_a_bundle() -> None:
    first, second = bundle("hipv4-amdgcn-amd-amdhsa--gfx1030", code=5000), bundle("hipv4-amdgcn-amd-amdhsa--gfx1100")
    padding = bytes(-len(first) % 4096)
    assert seen(first + padding + second) == ("gfx1030", "gfx1100")
    assert seen(first + padding + b"neither") == ("gfx1030",)


def test_no_code_for_hip() -> None:
    assert targets(io.BytesIO(library(named={".text": b"code"}))) == ()


@pytest.mark.parametrize("section", [b"CCOB" + bytes(4096), bundle("hipv4-amdgcn-amd-amdhsa--gfx1030", code=5000)[:-9]])
def test_what_cannot_be_read_is_not_an_absence(section: bytes) -> None:
    with pytest.raises(NotElfError, match=r"compressed|cut short"):
        seen(section)


def test_stripped_headers_are_not_an_absence() -> None:
    with pytest.raises(NotElfError, match="stripped"):
        targets(io.BytesIO(library()))


def test_a_length_that_goes_nowhere_ends() -> None:
    magic = b"__CLANG_OFFLOAD_BUNDLE__"
    with pytest.raises(NotElfError):
        seen(magic + struct.pack("<QQQQ", 1 << 60, 0, 0, 1 << 60) + bytes(64))
