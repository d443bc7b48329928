"""Compilers' names and versions, from their own words and from the kernel's."""

import msgspec

from gpudoctor.lazy_regex import pattern

_NUMBER = r"(\d+(?:\.\d+)+)"
_CLANG = pattern(rf"\bclang version {_NUMBER}")
_OLD_GCC = pattern(rf"\bgcc version {_NUMBER}")
# gcc-12 (Ubuntu 12.3.0-1ubuntu1~22.04) 12.3.0: the distribution's own version stands in the brackets.
_GCC = pattern(rf"\b(?:gcc|g\+\+|cc|c\+\+)(?:-[\d.]+)? \((?:[^()]|\([^()]*\))*\) {_NUMBER}")


class Compiler(msgspec.Struct, frozen=True):
    """A compiler: gcc or clang, and its version, such as 12.3.0."""

    name: str
    version: str


def compiler(text: str) -> Compiler | None:
    """Return what the first line of `gcc --version`, `cc --version` or `clang --version` says."""
    line = text.strip().partition("\n")[0]
    return _compiler_in(line)


def kernel_compiler(text: str) -> Compiler | None:
    """Return the compiler that /proc/version names, from which modules should not differ in major version."""
    # Linux version RELEASE (WHO@WHERE) (COMPILER, LINKER) #BUILD: a release or a builder may be named after gcc.
    line = text.partition("\n")[0]
    return _compiler_in(line.partition(") ")[2].partition(" #")[0]) if line.startswith("Linux version ") else None


def _compiler_in(text: str) -> Compiler | None:
    if "clang" in text and (clang := _CLANG.search(text)):
        return Compiler("clang", clang[1])
    gcc = ("gcc version" in text and _OLD_GCC.search(text)) or _GCC.search(text)
    return Compiler("gcc", gcc[1]) if gcc else None
