"""numba-cuda whose nvJitLink is older than its NVVM."""

import msgspec
import pytest

from gpudoctor.checks.cuda.nvvm_newer_than_linker import nvvm_newer_than_linker
from gpudoctor.facts import CondaPackage, Facts
from gpudoctor.facts.toolkit import CudaHome
from gpudoctor.maybe import Unknown
from tests.builders import change, plain_host
from tests.checks.environments import change_toolkits, commands, environment, machine, one, package, severity, torch

NVCC, NVVM, LINK_12, LINK_13 = (
    "nvidia-cuda-nvcc-cu12",
    "nvidia-nvvm",
    "nvidia-nvjitlink-cu12",
    "nvidia-nvjitlink",
)
CLOSED = Unknown("closed")


def numba(
    release: str = "0.21.1",
    driver: str = "13.0",
    found: dict[str, str] | None = None,
    conda: dict[str, str] | None = None,
    home: CudaHome | None = None,
) -> Facts:
    """An environment with numba-cuda and the wheels and conda packages that are found."""
    packages = tuple(package(name, version) for name, version in (found or {}).items())
    if release:
        packages = (package("numba-cuda", release, requires=(f"{LINK_12}; extra == 'cu12'",)), *packages)
    own = tuple(CondaPackage(name=name, version=version, build="h1") for name, version in (conda or {}).items())
    toolkits = change_toolkits(home=home) if home else change_toolkits()
    if own:
        return environment(packages=packages, facts=machine(driver, toolkits), conda=own)
    return environment(packages=packages, facts=machine(driver, toolkits))


def named(**found: str) -> dict[str, str]:
    """Packages by short names."""
    long = {"nvcc": NVCC, "nvvm": NVVM, "link12": LINK_12, "link13": LINK_13}
    return {long[name]: version for name, version in found.items()}


HOME = CudaHome(path="/usr/local/cuda-13.0", found_by="CUDA_HOME", exists=True, nvcc="13.0")
PASS = ("pass", "")


def test_packages_of_two_majors() -> None:
    facts = numba(found=named(nvvm="13.0.88", link12="12.8.93"))
    message = (
        "numba-cuda 0.21.1 compiles kernels with the NVVM of CUDA 13.0 (nvidia-nvvm 13.0.88), and links them with an "
        "older nvJitLink (nvidia-nvjitlink-cu12 12.8.93), which cannot read them. Packages of CUDA 13 and 12 are mixed."
    )
    assert one(nvvm_newer_than_linker, facts) == ("problem", message)
    assert severity(nvvm_newer_than_linker, facts) == "fail"
    assert "install 'numba-cuda[cu13]' 'nvidia-nvjitlink>=13.0,<14'" in commands(nvvm_newer_than_linker, facts)


def test_one_major_of_which_the_newest_nvcc_came_beside_pytorch() -> None:
    facts = numba(found=named(nvcc="12.9.86", link12="12.8.93"))
    message = (
        "numba-cuda 0.21.1 compiles kernels with the NVVM of CUDA 12.9 (nvidia-cuda-nvcc-cu12 12.9.86), and links them "
        "with an older nvJitLink (nvidia-nvjitlink-cu12 12.8.93), which cannot read them."
    )
    assert one(nvvm_newer_than_linker, facts) == ("problem", message)
    assert severity(nvvm_newer_than_linker, facts) == "warn"


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (numba(found=named(nvcc="12.8.93", link12="12.8.93")), False),
        (numba(found=named(nvcc="12.8.61", link12="12.8.93")), False),
        (numba(found=named(nvcc="12.8.93", link12="12.8.61")), False),  # releases differ, not their builds
        (numba(found=named(nvcc="12.8.93", link12="12.9.86")), False),
        (numba(found=named(nvcc="12.9.86", link13="13.0.88")), False),  # the next major reads it
        (numba(found=named(nvvm="13.1.115", link13="13.0.88")), True),
        (numba(found=named(nvvm="13.0.88", link12="12.8.93", link13="13.0.88")), False),
        (numba(found=named(nvvm="13.0.88")), False),  # without an nvJitLink the driver links
        (numba(found=named(link12="12.8.93")), False),  # without an NVVM: cuda.nvvm-missing
        # Both NVVMs: releases before 0.25 take CUDA 12's, later ones CUDA 13's.
        (numba(found=named(nvcc="12.8.93", nvvm="13.0.88", link12="12.8.93")), False),
        (numba("0.25.0", found=named(nvcc="12.8.93", nvvm="13.0.88", link12="12.8.93")), True),
        (numba("0.19.0", found=named(nvvm="13.0.88", link12="12.8.93")), False),  # does not look there
        (numba("0.15.2", found=named(nvcc="12.9.86", link12="12.8.93")), False),  # does not link by nvJitLink
        # conda's NVVM comes first before 0.25, and after the wheels since.
        (numba(conda={"cuda-nvvm-impl": "13.0.88"}, found=named(nvcc="12.8.93", link12="12.8.93")), True),
        (numba("0.25.0", conda={"cuda-nvvm-impl": "13.0.88"}, found=named(nvcc="12.8.93", link12="12.8.93")), False),
        (numba("0.25.0", conda={"cuda-nvvm-impl": "13.0.88"}, found=named(link12="12.8.93")), True),
        (numba(conda={"cuda-nvvm-impl": "12.9.86", "libnvjitlink": "12.9.86"}), False),
        (numba(conda={"cuda-nvvm-impl": "12.9.86", "libnvjitlink": "12.8.93"}), True),
        (numba(home=HOME, found=named(link12="12.8.93")), True),
        (numba(home=msgspec.structs.replace(HOME, found_by="nvcc on PATH"), found=named(link12="12.8.93")), False),
        (numba(home=HOME, found=named(nvcc="12.8.93", link12="12.8.93")), False),
        (numba("", found=named(nvvm="13.0.88", link12="12.8.93")), False),  # PyTorch alone links nothing of it
        (
            change(plain_host(), "pythons", numba(found=named(nvvm="13.0.88", link12="12.8.93")).pythons),
            False,
        ),  # no GPU
    ],
)
def test_what_numba_cuda_finds(facts: Facts, found: bool) -> None:
    assert (one(nvvm_newer_than_linker, facts)[0] == "problem") is found


def test_unknown_is_no_pass() -> None:
    facts = change(numba(), "pythons.0.packages", CLOSED)
    assert one(nvvm_newer_than_linker, facts) == ("unknown", "closed")
    hung = numba(home=msgspec.structs.replace(HOME, nvcc=CLOSED), found=named(link12="12.8.93"))
    assert one(nvvm_newer_than_linker, hung) == ("unknown", "closed")


def with_torch(facts: Facts, cuda: str) -> Facts:
    return change(facts, "pythons.0.frameworks", (torch("2.8.0", cuda=cuda),))


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        # What PyTorch is built for stays.
        (
            with_torch(numba(found=named(nvcc="12.9.86", link12="12.8.93")), "12.8"),
            "install 'numba-cuda[cu12]' 'nvidia-cuda-nvcc-cu12==12.8.*'",
        ),
        (
            with_torch(numba(found=named(nvvm="13.1.115", link13="13.0.88")), "13.0"),
            "install 'numba-cuda[cu13]' 'nvidia-nvvm==13.0.*'",
        ),
        (
            with_torch(numba(found=named(nvvm="13.0.88", link12="12.8.93")), "12.8"),
            "uninstall -y nvidia-nvvm",
        ),
        (
            with_torch(numba(found=named(nvvm="13.0.88", link12="12.8.93")), "12.8"),
            "install 'numba-cuda[cu12]' 'nvidia-cuda-nvcc-cu12==12.8.*'",
        ),
        # A driver for CUDA 12 runs no code of CUDA 13's linker.
        (
            numba(driver="12.8", found=named(nvvm="13.0.88", link12="12.8.93")),
            "which stays (the driver does not support CUDA 13)",
        ),
        (
            numba(found=named(nvcc="12.9.86", link12="12.8.93")),
            "install 'numba-cuda[cu12]' 'nvidia-nvjitlink-cu12>=12.9,<13'",
        ),
        (
            numba(home=HOME, found=named(link12="12.8.93")),
            "install 'numba-cuda[cu13]' 'nvidia-nvjitlink>=13.0,<14'",
        ),
        (
            with_torch(numba(home=HOME, found=named(link12="12.8.93")), "12.8"),
            "install 'numba-cuda[cu12]' 'nvidia-cuda-nvcc-cu12==12.8.*'",
        ),
        (
            with_torch(numba(conda={"cuda-nvvm-impl": "13.0.88"}, found=named(link12="12.8.93")), "12.8"),
            "cuda-nvvm cuda-nvrtc libnvjitlink cuda-version=12.8",
        ),
        (
            numba(conda={"cuda-nvvm-impl": "12.9.86", "libnvjitlink": "12.8.93"}),
            "cuda-nvvm cuda-nvrtc libnvjitlink cuda-version=12.9",
        ),
        (
            numba(conda={"cuda-nvvm-impl": "13.0.88"}, found=named(link12="12.8.93")),
            "install 'nvidia-nvjitlink>=13.0,<14'",
        ),
    ],
)
def test_one_release_that_leaves_the_frameworks_working(facts: Facts, line: str) -> None:
    assert line in commands(nvvm_newer_than_linker, facts)


@pytest.mark.parametrize(
    ("wants", "line"),
    [
        ("nvidia-nvjitlink-cu12", "'nvidia-nvjitlink-cu12>=12.9,<13'"),
        ("nvidia-nvjitlink-cu12>=12.1", "'nvidia-nvjitlink-cu12>=12.9,<13'"),
        ("nvidia-nvjitlink-cu12==12.8.93", "'nvidia-cuda-nvcc-cu12==12.8.*'"),
        ("nvidia-nvjitlink-cu12<12.9", "'nvidia-cuda-nvcc-cu12==12.8.*'"),
    ],
)
def test_a_package_that_pins_nvjitlink(wants: str, line: str) -> None:
    facts = numba(found=named(nvcc="12.9.86", link12="12.8.93"))
    packages = (*facts.pythons[0].packages, package("nvidia-cusparse-cu12", "12.5.8.93", requires=(wants,)))  # type: ignore[misc]
    assert line in commands(nvvm_newer_than_linker, change(facts, "pythons.0.packages", packages))
