"""An nvcc without a host compiler for C++."""

from typing import Any

import msgspec
import pytest

from gpudoctor.checks.cuda.host_compiler_missing import host_compiler_missing
from gpudoctor.facts import Facts
from gpudoctor.facts.host import Distribution
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.cuda.test_cuda import toolkit
from tests.checks.environments import commands, machine, one, severity

WITHOUT = "nvcc 12.4 (/usr/local/cuda-12.4) compiles host code with /usr/bin/gcc, which has no C++ compiler (cc1plus)."
NONE = "nvcc 12.4 (/usr/local/cuda-12.4) compiles nothing: no gcc is on PATH."


def host(why: str = "CUDA_HOME", env: dict[str, str] | None = None, **changes: Any) -> Facts:
    """A toolkit, and the gcc of the distribution."""
    found = msgspec.structs.replace(toolkit("12.4", why, "gcc 12.3.0"), **({"c_alone": "/usr/bin/gcc"} | changes))
    return change(machine(toolkits=found), "host.environment", env or {})


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(), ("problem", WITHOUT)),
        (host(c_alone=None), ("pass", "")),
        (host(c_alone=None, cxx=None, cxx_version=None), ("problem", NONE)),
        (host(c_alone=None, cxx=Unknown("no PATH")), ("unknown", "no PATH")),
        (host("/usr/local/cuda"), ("pass", "")),  # nobody named it
        (host(env={"NVCC_CCBIN": "/opt/gcc/bin/g++"}), ("pass", "")),
        (host(env={"CONDA_PREFIX": "/usr/local/cuda-12.4"}), ("pass", "")),
        (change(host(), "toolkits.home.own_compiler", "gcc 11.3.0"), ("pass", "")),
        (change(host(), "toolkits.home.nvcc", None), ("pass", "")),
        (change(host(), "toolkits.home.nvcc", Unknown("hung")), ("unknown", "hung")),
    ],
)
def test_verdicts(facts: Facts, verdict: tuple[str, str]) -> None:
    assert one(host_compiler_missing, facts) == verdict


def test_no_compiler_at_all_is_advice() -> None:
    assert severity(host_compiler_missing, host()) == "warn"
    assert severity(host_compiler_missing, host(c_alone=None, cxx=None, cxx_version=None)) == "advice"


@pytest.mark.parametrize(
    ("distribution", "typed"),
    [
        (Distribution(id="ubuntu", version="22.04"), "apt-get install g++-12"),
        (Distribution(id="fedora", version="42"), "dnf install gcc-c++"),
        (Distribution(id="opensuse-tumbleweed", version="1"), "zypper install gcc12-c++"),
        (Distribution(id="void", version="1"), "Install g++ with this distribution's package manager."),
    ],
)
def test_packages(distribution: Distribution, typed: str) -> None:
    assert typed in commands(host_compiler_missing, change(host(), "host.distribution", distribution))


def test_a_gcc_of_unknown_version() -> None:
    unknown = change(host(), "toolkits.cxx_version", Unknown("hung"))
    assert "apt-get install g++" in commands(host_compiler_missing, unknown)
