"""A toolkit's own declarations of functions that the C library has come to declare too.

Since glibc 2.41 its headers declare cospi and sinpi, since 2.42 rsqrt, and they declare them noexcept. C++ allows no
second declaration without it, and nvcc includes both headers in every file that it compiles.
"""

import re
from collections.abc import Iterable

from gpudoctor.facts.toolkit import OldHeader
from gpudoctor.knowledge.host_compilers import host_compilers
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown


def old_headers(machine: Machine, home: str) -> Maybe[tuple[OldHeader, ...]]:
    """Compare what the two headers declare.

    Args:
        machine: where to look.
        home: the toolkit's directory.
    """
    multiarch = f"/usr/include/{machine.architecture()}-linux-gnu/bits/mathcalls.h"
    libc = next((path for path in ("/usr/include/bits/mathcalls.h", multiarch) if machine.exists(path)), None)
    if libc is None:
        return ()
    targets = (f"{home}/targets/{name}/include" for name in machine.names(f"{home}/targets"))
    places = (f"{place}/crt/math_functions.h" for place in (f"{home}/include", *targets))
    own = next((path for path in places if machine.exists(path)), None)
    if own is None:
        return ()
    try:
        declared = _declared(machine.text(libc), host_compilers().declared)
        functions = _unspecified(machine.text(own), declared) if declared else ()
    except OSError as error:
        return Unknown(f"{own} or {libc}: {error.strerror or error}")
    return (OldHeader(path=machine.real(own), functions=functions),) if functions else ()


def _declared(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Those that glibc declares: "__MATHCALL_VEC (cospi,, (_Mdouble_ __x));"."""
    return tuple(name for name in names if re.search(rf"__MATHCALL\w*\s*\(\s*{name}\b", text))


def _unspecified(text: str, names: Iterable[str]) -> tuple[str, ...]:
    """Those whose declaration ends behind its parameter: "double cospi(double x);"."""
    return tuple(name for name in names if re.search(rf"\bdouble\s+{name}\s*\(\s*double\s+\w+\s*\)\s*;", text))
