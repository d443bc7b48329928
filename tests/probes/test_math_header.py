"""Tests of what a toolkit and the C library declare."""

import pytest

from gpudoctor.facts.toolkit import OldHeader
from gpudoctor.maybe import Unknown
from gpudoctor.probes.nvidia.math_header import old_headers
from gpudoctor.recorded_machine import RecordedMachine

HOME = "/usr/local/cuda-12.9"
OWN = f"{HOME}/targets/x86_64-linux/include/crt/math_functions.h"
SYSTEM = "/usr/include/x86_64-linux-gnu/bits/mathcalls.h"
# As the headers write them.
SINE = "__MATHCALL_VEC (sinpi,, (_Mdouble_ __x));\n"
GLIBC_2_40 = "__MATHCALL_VEC (sin,, (_Mdouble_ __x));\n__MATHCALL (sincospi,, (_Mdouble_ __x));\n"
GLIBC_2_41 = f"{GLIBC_2_40}__MATHCALL_VEC (cospi,, (_Mdouble_ __x));\n{SINE}"
GLIBC_2_42 = f"{GLIBC_2_41}/* Return 1/sqrt(X).  */\n__MATHCALL (rsqrt,, (_Mdouble_ __x));\n"
START = "extern __DEVICE_FUNCTIONS_DECL__ __device_builtin__ double                 "
CUDA_12_9 = f"{START}rsqrt(double x);\n{START}sinpi(double x);\n{START}cospi(double x);\n"
SPECIFIED = " __NV_IEC_60559_FUNCS_EXCEPTION_SPECIFIER;\n"
CUDA_13_0 = f"{START}rsqrt(double x);\n{START}sinpi(double x){SPECIFIED}{START}cospi(double x){SPECIFIED}"
CUDA_13_2 = CUDA_13_0.replace("rsqrt(double x);", "rsqrt(double x) _NV_RSQRT_SPECIFIER;")


@pytest.mark.parametrize(
    ("system", "own", "functions"),
    [
        (GLIBC_2_42, CUDA_12_9, ("cospi", "sinpi", "rsqrt")),
        (GLIBC_2_41, CUDA_12_9, ("cospi", "sinpi")),
        (GLIBC_2_40, CUDA_12_9, ()),
        (GLIBC_2_42, CUDA_13_0, ("rsqrt",)),
        (GLIBC_2_41, CUDA_13_0, ()),
        (GLIBC_2_42, CUDA_13_2, ()),
        (GLIBC_2_42, CUDA_12_9.replace("(double x)", "(double x) noexcept(true)"), ()),  # as the fix writes it
    ],
)
def test_headers(system: str, own: str, functions: tuple[str, ...]) -> None:
    seen = old_headers(RecordedMachine({SYSTEM: system, OWN: own}), HOME)
    assert seen == ((OldHeader(path=OWN, functions=functions),) if functions else ())


def test_places() -> None:
    usual = f"{HOME}/include/crt/math_functions.h"
    machine = RecordedMachine({"/usr/include/bits/mathcalls.h": GLIBC_2_42, usual: CUDA_13_0})
    assert old_headers(machine, HOME) == (OldHeader(path=usual, functions=("rsqrt",)),)
    assert old_headers(RecordedMachine({OWN: CUDA_12_9}), HOME) == ()
    assert old_headers(RecordedMachine({SYSTEM: GLIBC_2_42}), HOME) == ()


def test_a_header_that_cannot_be_read() -> None:
    machine = RecordedMachine({SYSTEM: GLIBC_2_42, OWN: CUDA_12_9}, errors={OWN: "EACCES"})
    assert old_headers(machine, HOME) == Unknown(f"{OWN} or {SYSTEM}: Permission denied")
