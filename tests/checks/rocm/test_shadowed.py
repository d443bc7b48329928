"""LD_LIBRARY_PATH before the ROCm libraries in PyTorch's wheel."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.libraries.rocm_shadowed import rocm_shadowed
from gpudoctor.facts import Facts, Need
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, framework, live, nvidia_host, with_framework
from tests.checks.amd_machines import amd_host
from tests.checks.rocm.test_rocm import commands

OWN = "/opt/env/lib/python3.11/site-packages/torch/lib"
SYSTEM = "/opt/rocm/lib"


def need(name: str = "libamdhip64.so", folder: str = SYSTEM, how: str = "LD_LIBRARY_PATH", own: bool = True) -> Need:
    """A library, and where it comes from."""
    wheel = f"{OWN}/{name}" if own else None
    return Need(soname=name, needed_by="torch/lib/libtorch_hip.so", path=f"{folder}/{name}", how=how, wheel=wheel)


def host(*needs: Need, hip: str = "6.4.43482", **changes: Any) -> Facts:
    """ROCm 6.3 on LD_LIBRARY_PATH, and a wheel of 6.4."""
    facts = change(amd_host(), "host.environment", {"LD_LIBRARY_PATH": SYSTEM})
    facts = change(change(facts, "pythons.0.frameworks.0.needs", needs), "pythons.0.frameworks.0.hip", hip)
    for path, value in changes.items():
        facts = change(facts, path.replace("__", "."), value)
    return facts


LOADS = "PyTorch 2.7.1+rocm6.3 includes ROCm 6.4, but LD_LIBRARY_PATH makes it load"


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (host(), ("pass", "")),
        (host(need(), hip="6.3.42134"), ("pass", "")),  # the same release
        (host(need(how="RPATH", folder=OWN)), ("pass", "")),
        (host(need(how="RUNPATH")), ("pass", "")),
        (host(need(own=False)), ("pass", "")),  # a build that wants the system's
        (host(need()), ("problem", f"{LOADS} libamdhip64.so from ROCm 6.3.")),
        (host(need(folder="/opt/rocm-5.7.1/lib")), ("problem", f"{LOADS} libamdhip64.so from ROCm 5.7.")),
        (host(need(folder="/opt/rocm/core-7.14/lib")), ("problem", f"{LOADS} libamdhip64.so from ROCm 7.14.")),
        (host(need(folder="/home/ada/lib")), ("pass", "")),  # of which release?
        (host(need(), amd__rocm=Unknown("no file")), ("pass", "")),
        (
            host(*(need(f"lib{name}.so") for name in ("amdhip64", "rocblas", "MIOpen", "rccl"))),
            ("problem", f"{LOADS} libamdhip64.so, librocblas.so, libMIOpen.so and others from ROCm 6.3."),
        ),
        (host(need(), host__wsl=2), ("pass", "")),
        (with_framework(framework()), ("pass", "")),
        (nvidia_host(), ("skipped", "")),
        (host(need(), pythons__0__frameworks__0__needs=Unknown("not read")), ("unknown", "not read")),
    ],
)
def test_rocm_shadowed(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(rocm_shadowed, facts) == [verdict]


@pytest.mark.parametrize(
    ("found", "folder", "severity"),
    [
        (live(1), SYSTEM, Severity.ADVICE),
        (live(1), "/opt/rocm-5.7.1/lib", Severity.ADVICE),  # it works
        (live(0, error="HIP error: invalid device function"), SYSTEM, Severity.WARNING),
        (live(0, import_error="ImportError: undefined symbol: hipGetDriverEntryPoint"), SYSTEM, Severity.ERROR),
        (live(0, died="SIGSEGV"), SYSTEM, Severity.ERROR),
        (None, SYSTEM, Severity.ADVICE),
        (None, "/opt/rocm-5.7.1/lib", Severity.WARNING),
    ],
)
def test_how_bad_it_is(found: object, folder: str, severity: Severity) -> None:
    facts = change(host(need(folder=folder)), "pythons.0.frameworks.0.live", found)
    assert [verdict.severity for verdict in run(rocm_shadowed, facts)] == [severity]


def test_the_folder_is_taken_out() -> None:
    assert commands(rocm_shadowed, host(need())) == ["unset LD_LIBRARY_PATH"]
    (verdict,) = run(rocm_shadowed, host(need()))
    assert "include their own ROCm libraries" in verdict.fixes[0].message
