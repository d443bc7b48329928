"""The rocBLAS of the system: where its kernels are, and for which targets."""

import pytest

from gpudoctor.facts import PciDevice
from gpudoctor.maybe import Unknown
from gpudoctor.parsers.rocblas import targets
from gpudoctor.probes.amd import probe
from gpudoctor.probes.amd.rocblas import kernels
from gpudoctor.recorded_machine import RecordedMachine
from tests.probes.test_amd import CARD, UBUNTU

OPT = "/opt/rocm/lib/rocblas/library"
LAZY = "TensileLibrary_lazy_{}.dat"


def files(folder: str, *gfx: str) -> dict[str, str]:
    return {f"{folder}/{LAZY.format(one)}": "x" for one in gfx}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("TensileLibrary_lazy_gfx1100.dat", "TensileLibrary_lazy_gfx90a.dat"), ("gfx1100", "gfx90a")),
        (("Kernels.so-000-gfx90a-xnack-.hsaco", "Kernels.so-000-gfx906.hsaco"), ("gfx906", "gfx90a")),
        (("TensileLibrary.dat", "TensileLibrary_gfx1030.co"), ("gfx1030",)),
        (("TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_Cijk_Dijk_fallback_gfx1010.hsaco",), ("gfx1010",)),
        (("TensileLibrary_lazy_gfx11-generic.dat",), ("gfx11-generic",)),
        (("gfx942",), ("gfx942",)),  # a directory for each target
        (("TensileLibrary.dat", "README"), ()),
        ((), ()),
    ],
)
def test_targets(names: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert targets(names) == expected


@pytest.mark.parametrize(
    ("there", "links", "env", "expected"),
    [
        (files(OPT, "gfx1030", "gfx906"), {}, {}, (OPT, ("gfx1030", "gfx906"))),
        (
            files("/opt/rocm-6.4.0/lib/rocblas/library", "gfx1030"),
            {"/opt/rocm": "/opt/rocm-6.4.0"},
            {},
            ("/opt/rocm-6.4.0/lib/rocblas/library", ("gfx1030",)),
        ),
        # a program loads that of its own release
        (
            files(OPT, "gfx1030") | files("/opt/rocm-6.3.4/lib/rocblas/library", "gfx906"),
            {},
            {},
            (OPT, ("gfx1030", "gfx906")),
        ),
        (
            files("/opt/rocm/core-7.14/lib/rocblas/library", "gfx1100"),
            {},
            {},
            ("/opt/rocm/core-7.14/lib/rocblas/library", ("gfx1100",)),
        ),
        (
            files("/usr/lib64/rocblas/library", "gfx1100"),
            {},
            {},
            ("/usr/lib64/rocblas/library", ("gfx1100",)),
        ),
        (
            files("/usr/lib/x86_64-linux-gnu/rocblas/4.4.1/library", "gfx906"),
            {},
            {},
            ("/usr/lib/x86_64-linux-gnu/rocblas/4.4.1/library", ("gfx906",)),
        ),
        (
            files("/home/a/rocm/lib/rocblas/library", "gfx906"),
            {},
            {"LD_LIBRARY_PATH": ":/home/a/rocm/lib/"},
            ("/home/a/rocm/lib/rocblas/library", ("gfx906",)),
        ),
        ({f"{OPT}/README": "x"}, {}, {}, (None, ())),  # no target can be read from the names
        ({"/opt/rocm/bin/rocminfo": "x"}, {}, {}, (None, ())),
    ],
)
def test_kernels(
    there: dict[str, str], links: dict[str, str], env: dict[str, str], expected: tuple[str | None, tuple[str, ...]]
) -> None:
    assert kernels(RecordedMachine(there, links=links, env=env)) == expected


def test_a_directory_that_cannot_be_read_is_unknown() -> None:
    machine = RecordedMachine(files(OPT, "gfx1030"), errors={OPT: "EACCES"})
    unread = Unknown(f"{OPT} cannot be read")
    assert kernels(machine) == (unread, unread)


def test_it_is_looked_for_next_to_an_amd_gpu() -> None:
    machine = RecordedMachine(files(OPT, "gfx1030"))
    nvidia = PciDevice(address="0000:01:00.0", vendor="10de", device="2684", class_code="030000")
    assert nvidia.vendor != CARD.vendor
    assert probe(machine, UBUNTU, [CARD]).blas == ("gfx1030",)
    assert isinstance(probe(machine, UBUNTU, []).blas, Unknown)
