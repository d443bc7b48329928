"""Shared libraries read without loading them: what they need, offer and lack."""

from gpudoctor.parsers.elf.dynamic import Dynamic, read_dynamic
from gpudoctor.parsers.elf.headers import NotElfError, end_of, wants_executable_stack
from gpudoctor.parsers.elf.rodata import rodata_string
from gpudoctor.parsers.elf.symbols import defined_symbols, undefined_symbols

__all__ = [
    "Dynamic",
    "NotElfError",
    "defined_symbols",
    "end_of",
    "read_dynamic",
    "rodata_string",
    "undefined_symbols",
    "wants_executable_stack",
]
