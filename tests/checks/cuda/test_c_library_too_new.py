"""A C library whose headers clash with those of the CUDA toolkit."""

from typing import Any

import msgspec
import pytest

from gpudoctor.checks.cuda.c_library_too_new import c_library_too_new
from gpudoctor.facts import Facts
from gpudoctor.facts.toolkit import OldHeader
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.builders import host as a_host
from tests.checks.cuda.test_cuda import toolkit
from tests.checks.environments import commands, environment, machine, one, package, severity, torch, verifies

HEADER = "/usr/local/cuda-12.9/targets/x86_64-linux/include/crt/math_functions.h"
THREE = ("cospi", "sinpi", "rsqrt")


def host(functions: tuple[str, ...] = THREE, path: str = HEADER, why: str = "nvcc on PATH", **env: str) -> Facts:
    """A toolkit 12.9 whose header declares these functions as before."""
    found = toolkit("12.9", why)
    headers = (OldHeader(path=path, functions=functions),) if functions else ()
    home = msgspec.structs.replace(found.home, old_headers=headers)
    return change(machine(toolkits=msgspec.structs.replace(found, home=home)), "host.environment", env)


HERE = "nvcc 12.9 (/usr/local/cuda-12.9) compiles no file here"
SAYS = HERE + ": its {} declares {} otherwise than this system's glibc does."


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(), ("problem", SAYS.format(HEADER, "cospi, sinpi and rsqrt"))),
        (host(("rsqrt",)), ("problem", SAYS.format(HEADER, "rsqrt"))),
        (host(()), ("pass", "")),
        (host(CONDA_PREFIX="/usr/local/cuda-12.9"), ("pass", "")),  # conda's compiler has its own C library
        (host(CXX="/opt/conda/bin/x86_64-conda-linux-gnu-c++"), ("pass", "")),
        (host(NVCC_PREPEND_FLAGS="-isystem /opt/patched"), ("pass", "")),
        (host(NVCC_PREPEND_FLAGS="-ccbin g++-12"), ("problem", SAYS.format(HEADER, "cospi, sinpi and rsqrt"))),
        (change(host(), "toolkits.home.old_headers", Unknown("closed")), ("unknown", "closed")),
    ],
)
def test_verdicts(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(c_library_too_new, facts) == verdict


def test_a_toolkit_that_nothing_names_is_advice() -> None:
    assert severity(c_library_too_new, host()) == "warn"
    assert severity(c_library_too_new, host(why="/usr/local/cuda")) == "advice"
    compiling = environment(torch("2.9.1"), packages=(package("sglang", "0.5.9"),), facts=host(why="/usr/local/cuda"))
    assert severity(c_library_too_new, compiling) == "warn"


def test_the_header_is_changed_for_these_functions_alone() -> None:
    said = commands(c_library_too_new, host(("cospi", "sinpi")))
    assert (
        r"sudo sed -i.orig -E 's/((double|float) +(cospi|sinpi)f?\((double|float) x\));/\1 noexcept(true);/' " + HEADER
    ) in said
    assert "CUDA Toolkit 13.0 or newer" in said
    assert "CUDA Toolkit 13.2 or newer" in commands(c_library_too_new, host())
    assert verifies(c_library_too_new, host())[0] == (
        "/usr/local/cuda-12.9/bin/nvcc -x cu -c /dev/null -o /tmp/empty.o"
    )


@pytest.mark.parametrize(
    ("facts", "has", "lacks"),
    [
        (host(path="/home/al/cuda/include/crt/math_functions.h", HOME="/home/al"), "sed -i.orig", "sudo sed"),
        (host(path="/nix/store/x-cuda/include/crt/math_functions.h"), "13.2 or newer", "sed"),
        (change(host(), "host", a_host(container="docker")), "Dockerfile", "undefined"),
    ],
)
def test_who_owns_the_header(facts: Facts, has: Any, lacks: str) -> None:
    said = commands(c_library_too_new, facts)
    assert has in said
    assert lacks not in said
