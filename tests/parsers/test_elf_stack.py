"""Which libraries ask for an executable stack."""

import io

import pytest

from gpudoctor.parsers.elf import NotElfError, wants_executable_stack
from tests.parsers.elves import library

X86, ARM = 62, 183


@pytest.mark.parametrize(
    ("machine", "stack", "asks"),
    [(X86, 6, False), (X86, 7, True), (X86, None, True), (ARM, 6, False), (ARM, 7, True), (ARM, None, False)],
)
def test_the_flag_counts_and_without_a_header_the_architectures_default(
    machine: int, stack: int | None, asks: bool
) -> None:
    assert wants_executable_stack(io.BytesIO(library(machine=machine, stack=stack))) is asks


def test_what_is_no_library_is_refused() -> None:
    with pytest.raises(NotElfError):
        wants_executable_stack(io.BytesIO(b"#!/bin/sh"))
