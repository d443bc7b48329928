"""ROCm's runtimes that link to what is not there."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.rocm.runtime_unloadable import runtime_unloadable
from gpudoctor.facts import Distribution, Facts
from gpudoctor.facts.amd import UnloadableLibrary
from gpudoctor.maybe import Unknown
from tests.builders import ask, change
from tests.checks.amd_machines import amd_host
from tests.checks.environments import commands, severity

WHY = Unknown("closed")
HSA, HIP = "/opt/rocm/lib/libhsa-runtime64.so.1", "/opt/rocm/lib/libamdhip64.so.7"
WHERE = "which is neither next to it nor where the loader looks."
FOR_WSL = (("hsa-runtime-rocr4wsl-amdgpu", "25.30", "ii"), ("rocminfo4wsl-amdgpu", "25.30", "ii"))


def lacking(*sonames: str, path: str = HSA, distribution: str = "ubuntu", **amd: Any) -> Facts:
    """An AMD machine without a framework."""
    found = (UnloadableLibrary(path=path, lacks=sonames),) if sonames else ()
    facts = amd_host(**{"unloadable": found, **amd})
    return change(change(facts, "pythons", ()), "host.distribution", Distribution(id=distribution))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (
            lacking("libdxcore.so"),
            ("problem", f"{HSA} needs libdxcore.so, {WHERE} It is the runtime for WSL, and this is native Linux."),
        ),
        (lacking("libelf.so.1", "libnuma.so.1"), ("problem", f"{HSA} needs libelf.so.1 (and 1 more), {WHERE}")),
        (lacking("librocprofiler-register.so.0", path=HIP),
         ("problem", f"{HIP} needs librocprofiler-register.so.0, {WHERE}")),
        (lacking("libamd_comgr.so.3", path=HIP), ("pass", "")),  # another check's
        (lacking(), ("pass", "")),
        (lacking(unloadable=WHY), ("unknown", "closed")),
        (change(lacking("libdxcore.so"), "host.wsl", 2), ("problem", f"{HSA} needs libdxcore.so, {WHERE}")),
    ],
)  # fmt: skip
def test_runtime_unloadable(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(runtime_unloadable, facts) == [verdict]


@pytest.mark.parametrize(
    ("facts", "typed"),
    [
        (lacking("libdxcore.so", packages=FOR_WSL[:1]), "apt-get install hsa-rocr hsa-runtime-rocr4wsl-amdgpu-"),
        (
            lacking("libdxcore.so", packages=FOR_WSL),
            "apt-get install hsa-rocr rocminfo hsa-runtime-rocr4wsl-amdgpu- rocminfo4wsl-amdgpu-",
        ),
        (lacking("libdxcore.so", packages=WHY), "apt-get install hsa-rocr hsa-runtime-rocr4wsl-amdgpu-"),
        (lacking("libelf.so.1", "libnuma.so.1"), "apt-get install libelf1 libnuma1"),
        (lacking("libelf.so.1", distribution="fedora"), "dnf install elfutils-libelf"),
        (lacking("librocm-core.so.1"), "Install the package that contains librocm-core.so.1, of the same ROCm release"),
        (
            lacking("libelf.so.1", "libfoo.so.3"),
            "Install libelf1. Then install the package that contains libfoo.so.3, of the same ROCm release as "
            "/opt/rocm/lib/libhsa-runtime64.so.1, or reinstall ROCm.",
        ),
        (lacking("libelf.so.1", distribution="gentoo"), "Install the package that contains libelf.so.1"),
    ],
)
def test_what_brings_it(facts: Facts, typed: str) -> None:
    assert typed in commands(runtime_unloadable, facts)


def test_each_library_is_named() -> None:
    (verdict,) = run(runtime_unloadable, lacking("libelf.so.1", "libfoo.so.3"))
    assert verdict.problem is not None
    assert verdict.problem.evidence == (f"{HSA} needs libelf.so.1", f"{HSA} needs libfoo.so.3")


def test_a_wheel_that_works_makes_it_a_warning() -> None:
    assert severity(runtime_unloadable, lacking("libelf.so.1")) == "fail"
    found = (UnloadableLibrary(path=HSA, lacks=("libelf.so.1",)),)
    assert severity(runtime_unloadable, amd_host(unloadable=found)) == "warn"
