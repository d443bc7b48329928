"""Tests of the probe of gcc's parts."""

import pytest

from gpudoctor.probes.nvidia.host_compiler import c_alone
from gpudoctor.recorded_machine import RecordedMachine

DEBIAN = {"/usr/bin/gcc": "gcc-12", "/usr/bin/gcc-12": "x86_64-linux-gnu-gcc-12"}
REAL = "/usr/bin/x86_64-linux-gnu-gcc-12"
LIB = "/usr/lib/gcc/x86_64-linux-gnu"
FEDORA = "/usr/libexec/gcc/x86_64-redhat-linux/15"


@pytest.mark.parametrize(
    ("files", "links", "expected"),
    [
        ((REAL, f"{LIB}/12/cc1"), DEBIAN, "/usr/bin/gcc"),
        ((REAL, f"{LIB}/12/cc1", f"{LIB}/12/cc1plus"), DEBIAN, None),
        ((REAL, f"{LIB}/12/cc1", f"{LIB}/11/cc1plus"), DEBIAN, "/usr/bin/gcc"),  # g++ of another version
        ((REAL, f"{LIB}/12/crtbegin.o", "/usr/libexec/gcc/x86_64-linux-gnu/12/cc1"), DEBIAN, "/usr/bin/gcc"),
        ((REAL, f"{LIB}/12/crtbegin.o"), DEBIAN, None),  # what compiles C is elsewhere too
        (("/usr/bin/gcc", f"{FEDORA}/cc1"), {}, "/usr/bin/gcc"),
        (("/usr/bin/gcc", f"{FEDORA}/cc1", f"{FEDORA}/cc1plus"), {}, None),
        (("/usr/bin/gcc", "/usr/lib/gcc/arm-none-eabi/12/cc1"), {}, None),  # a cross compiler
        (("/opt/rh/bin/gcc", f"{FEDORA}/cc1"), {"/usr/bin/gcc": "/opt/rh/bin/gcc"}, None),
        ((f"{FEDORA}/cc1",), {}, None),
    ],
)
def test_parts(files: tuple[str, ...], links: dict[str, str], expected: str | None) -> None:
    machine = RecordedMachine(dict.fromkeys(files, ""), links=links, env={"PATH": "/usr/bin"})
    assert c_alone(machine) == expected
