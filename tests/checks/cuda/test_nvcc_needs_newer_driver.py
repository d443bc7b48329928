"""An nvcc of a CUDA major for which the driver is too old."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.cuda.nvcc_needs_newer_driver import nvcc_needs_newer_driver
from gpudoctor.facts import Distribution
from gpudoctor.maybe import Unknown
from tests.builders import change, host
from tests.checks.cuda.test_cuda import toolkit
from tests.checks.environments import commands, environment, machine, one, severity, torch


@pytest.mark.parametrize(
    ("driver", "nvcc", "why", "outcome"),
    [
        ("12.4", "13.0", "nvcc on PATH", "problem"),
        ("12.4", "13.0", "CUDA_HOME", "problem"),
        ("11.8", "12.0", "nvcc on PATH", "problem"),
        ("12.4", "13.0", "/usr/local/cuda", "pass"),  # nobody chose it
        ("12.4", "12.8", "nvcc on PATH", "pass"),  # minor-version compatibility
        ("13.0", "12.4", "nvcc on PATH", "pass"),
        ("12.4", Unknown("hung"), "nvcc on PATH", "unknown"),
    ],
)
def test_the_major_of_the_toolkit(driver: str, nvcc: str, why: str, outcome: str) -> None:
    assert one(nvcc_needs_newer_driver, machine(driver, toolkits=toolkit(nvcc, why)))[0] == outcome


def test_the_driver_or_another_toolkit() -> None:
    facts = machine("12.4", toolkits=toolkit("13.0", "nvcc on PATH"))
    (verdict,) = run(nvcc_needs_newer_driver, facts)
    assert verdict.message.startswith(
        "nvcc 13.0 (/usr/local/cuda-13.0, from nvcc on PATH) compiles programs that do not"
    )
    assert verdict.message.endswith("does not support CUDA 13.")
    assert severity(nvcc_needs_newer_driver, facts) == "warn"
    assert verdict.fixes[0].message.startswith("Install driver branch ")
    assert any("cuda-toolkit-12-4" in command for command in verdict.fixes[1].commands)
    inside = change(facts, "host", host(container="docker"))
    assert "-devel" in commands(nvcc_needs_newer_driver, inside)
    assert "nvidia-driver" not in commands(nvcc_needs_newer_driver, inside)


def test_a_framework_brings_its_own_runtime() -> None:
    facts = environment(torch("2.5.1", cuda="12.4"), facts=machine("12.4", toolkits=toolkit("13.0", "nvcc on PATH")))
    assert severity(nvcc_needs_newer_driver, facts) == "advice"


def test_debians_own_toolkit_where_nvidias_repository_has_none_so_old() -> None:
    trixie = Distribution(id="debian", like=(), version="13", codename="trixie", name="Debian GNU/Linux 13 (trixie)")
    facts = change(machine("12.4", toolkits=toolkit("13.0", "nvcc on PATH")), "host.distribution", trixie)
    (verdict,) = run(nvcc_needs_newer_driver, change(facts, "host.sources", ()))
    assert verdict.fixes[0].commands[-1].endswith("nvidia-open")  # of NVIDIA's repository, which begins with 590
    assert "sudo apt-get install nvidia-cuda-toolkit" in verdict.fixes[1].commands
