"""The symbol versions that a library needs and defines."""

import io
import re
import sys
from pathlib import Path

import pytest

from gpudoctor.parsers.elf import NotElfError
from gpudoctor.parsers.elf.versions import defined_versions, needed_versions
from tests.parsers.elves import library


def _libc() -> str:
    found = re.search(r"(/\S*/libc\.so\.6)$", Path("/proc/self/maps").read_text(), re.MULTILINE)
    if found is None:
        pytest.skip("no glibc")
    return found[1]


def test_what_a_program_needs_its_c_library_defines() -> None:
    with Path(_libc()).open("rb") as file:
        there = defined_versions(file)
    with Path(sys.executable).resolve().open("rb") as file:
        needed = needed_versions(file)
    assert "GLIBC_2.17" in there
    assert set(needed["libc.so.6"]) <= there


def test_a_library_without_versions() -> None:
    data = library("libown.so", needed=("libc.so.6",))
    assert needed_versions(io.BytesIO(data)) == {}
    assert defined_versions(io.BytesIO(data)) == frozenset()
    with pytest.raises(NotElfError):
        needed_versions(io.BytesIO(b"no library"))
