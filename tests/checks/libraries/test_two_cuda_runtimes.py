"""A CUDA runtime of another major version than PyTorch's, next to a package that refuses two of them."""

from typing import Any

import msgspec
import pytest

from gpudoctor.checks.libraries.two_cuda_runtimes import two_cuda_runtimes
from gpudoctor.facts import DriverLibrary, Facts
from gpudoctor.maybe import Unknown
from tests.builders import change
from tests.checks.environments import NO_TOOLKIT, commands, environment, machine, one, package, severity, torch

TOOLKIT = "/usr/local/cuda-13.0/targets/x86_64-linux/lib"
OTHER = DriverLibrary(
    soname="libcudart.so.13",
    path=f"{TOOLKIT}/libcudart.so.13",
    real=f"{TOOLKIT}/libcudart.so.13.0.96",
    found_by="cache",
)
OWN = msgspec.structs.replace(OTHER, soname="libcudart.so.12", path="/usr/local/cuda-12.8/lib64/libcudart.so.12")


def with_engine(*libraries: DriverLibrary, version: str = "2.10.0", cuda: str | None = "12.8", **changes: Any) -> Facts:
    found = msgspec.structs.replace(NO_TOOLKIT, libraries=libraries)
    packages = (package("transformer-engine", version),)
    return environment(torch("2.9.1", cuda=cuda, **changes), packages=packages, facts=machine(toolkits=found))


def test_the_loaders_cache_has_the_other_runtime() -> None:
    facts = with_engine(OTHER, OWN)
    expected = (
        "PyTorch 2.9.1 loads libcudart.so.12, and the loader finds libcudart.so.13 too "
        f"({TOOLKIT}/libcudart.so.13, in the loader's cache): the fused attention of transformer-engine 2.10.0 stops "
        "with RuntimeError: Multiple libcudart libraries found."
    )
    assert one(two_cuda_runtimes, facts) == ("problem", expected)
    assert severity(two_cuda_runtimes, facts) == "warn"
    said = commands(two_cuda_runtimes, facts)
    assert f"grep -rl '--include=*.conf' {TOOLKIT} /etc/ld.so.conf /etc/ld.so.conf.d" in said
    assert "sudo ldconfig" in said
    assert "'transformer-engine[pytorch,core-cu12]>=2.17'" in said
    linked = msgspec.structs.replace(OTHER, path="/usr/local/cuda/lib64/libcudart.so.13")
    assert f"-e {TOOLKIT} -e /usr/local/cuda/lib64 /etc" in commands(two_cuda_runtimes, with_engine(OTHER, linked))


def test_a_variable_or_a_directory_of_the_system_leads_to_it() -> None:
    by_variable = with_engine(msgspec.structs.replace(OTHER, found_by="LD_LIBRARY_PATH"))
    by_variable = change(by_variable, "host.environment", {"LD_LIBRARY_PATH": f"{TOOLKIT}:/opt/mine"})
    said = commands(two_cuda_runtimes, by_variable)
    assert "export LD_LIBRARY_PATH=/opt/mine" in said
    assert "ld.so.conf" not in said
    ubuntu = msgspec.structs.replace(OWN, path="/usr/lib/x86_64-linux-gnu/libcudart.so.12")
    facts = with_engine(ubuntu, cuda="13.0")
    assert "finds libcudart.so.12 too" in one(two_cuda_runtimes, facts)[1]
    said = commands(two_cuda_runtimes, facts)
    assert "ld.so.conf" not in said
    assert "core-cu13" in said


@pytest.mark.parametrize(
    "facts",
    [
        with_engine(OWN),
        with_engine(),
        with_engine(msgspec.structs.replace(OTHER, kind="stub")),
        with_engine(OTHER, version="2.17.0"),
        with_engine(OTHER, version="2.3.0"),
        with_engine(OTHER, cuda="11.8"),
        with_engine(OTHER, cuda=None, variant="cpu"),
        environment(
            torch("2.9.1", cuda="12.8"), facts=machine(toolkits=msgspec.structs.replace(NO_TOOLKIT, libraries=(OTHER,)))
        ),
    ],
)
def test_nothing_to_find(facts: Facts) -> None:
    assert one(two_cuda_runtimes, facts) == ("pass", "")


def test_what_the_loader_finds_is_unknown() -> None:
    facts = change(with_engine(OTHER), "toolkits.libraries", Unknown("/etc/ld.so.cache: closed"))
    assert one(two_cuda_runtimes, facts) == ("unknown", "/etc/ld.so.cache: closed")
