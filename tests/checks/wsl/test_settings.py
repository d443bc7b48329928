"""Checks of WSL's settings, its kernel and its memory."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import judge, run
from gpudoctor.checks.wsl.gpu_disabled import gpu_disabled
from gpudoctor.checks.wsl.kernel_too_old import kernel_too_old
from gpudoctor.checks.wsl.libraries_off_path import libraries_off_path
from gpudoctor.checks.wsl.memory_small import memory_small
from gpudoctor.facts import Facts, Wsl
from gpudoctor.maybe import Unknown
from gpudoctor.report.build import build
from tests.builders import ask, change, library, nvidia_host
from tests.checks.wsl.test_wsl import LIB, UTILS, wsl

WHY = Unknown("not to be seen")
SKIPPED, PASS, UNKNOWN = [("skipped", "")], [("pass", "")], [("unknown", "not to be seen")]
SILENT: dict[str, Any] = {"nvidia__cuda__code": None, "nvidia__nvml__code": None, "gpus": WHY}


def off(why: str = "not on the loader's path", soname: str = "libcuda.so.1") -> Any:
    """A library of the Windows driver that the loader does not find."""
    return library(soname, None, path=f"{LIB}/{soname}", real=f"{LIB}/{soname}", kind="wsl", found_by=why)


def settings(gpu: object = True, ldconfig: object = True, **changes: Any) -> Facts:
    """WSL 2 with these settings in /etc/wsl.conf."""
    return change(wsl(**changes), "wsl", Wsl(gpu=gpu, ldconfig=ldconfig))  # type: ignore[arg-type]


def roots(facts: Facts) -> dict[str, str]:
    """What a reader of the report sees first: id and status of the findings that nothing explains."""
    report = build(facts, list(judge(facts, catalogue.load())))
    return {finding.check: finding.status for finding in report.findings}


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (nvidia_host(), SKIPPED),
        (settings(), PASS),
        (settings(False), PASS),  # CUDA works all the same
        (settings(WHY), PASS),  # CUDA works, whatever the file says
        (settings(WHY, **SILENT), UNKNOWN),
        (settings(None, host__wsl=1, **SILENT), PASS),
        (settings(False, nvidia__cuda__code=WHY), UNKNOWN),
        (
            settings(False, **SILENT),
            [
                (
                    "problem",
                    "The section [gpu] of /etc/wsl.conf has enabled=false: this distribution gets no GPU.",
                )
            ],
        ),
    ],
)
def test_gpu_disabled(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(gpu_disabled, facts) == verdict


def test_a_gpu_that_is_switched_off_explains_the_rest() -> None:
    facts = settings(False, **SILENT, nvidia__kernel__nodes=(), nvidia__kernel__wsl_drivers=None)
    facts = change(change(facts, "nvidia.cuda.libraries", ()), "nvidia.nvml.libraries", ())
    assert roots(facts) == {"wsl.gpu-disabled": "fail"}


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (nvidia_host(), SKIPPED),
        (settings(), PASS),
        (settings(nvidia__cuda__libraries=(), **SILENT), PASS),
        (settings(nvidia__cuda__libraries=(off(),)), PASS),  # found by other means
        (settings(nvidia__cuda__libraries=(library("libcuda.so.1"), off()), **SILENT), PASS),
        (change(settings(nvidia__cuda__libraries=(off(),), **SILENT), "host.container", "docker"), PASS),
        (settings(nvidia__cuda__libraries=WHY), UNKNOWN),
        (settings(nvidia__cuda__libraries=(off(),), nvidia__cuda__code=WHY), UNKNOWN),
        (
            settings(nvidia__cuda__libraries=(off(),), **SILENT),
            [("problem", "/usr/lib/wsl/lib/libcuda.so.1 exists, but it is not on the loader's search path.")],
        ),
        (
            settings(ldconfig=False, nvidia__cuda__libraries=(off(),), **SILENT),
            [
                (
                    "problem",
                    "/usr/lib/wsl/lib/libcuda.so.1 exists, but it is not on the loader's search path. /etc/wsl.conf "
                    "disables ldconfig.",
                )
            ],
        ),
    ],
)
def test_libraries_off_path(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(libraries_off_path, facts) == verdict


def test_the_loader_is_told_and_on_nixos_the_configuration() -> None:
    facts = settings(nvidia__cuda__libraries=(off(),), **SILENT)
    first = run(libraries_off_path, facts)[0].fixes[0].commands[0]
    assert first == "echo /usr/lib/wsl/lib | sudo tee /etc/ld.so.conf.d/ld.wsl.conf"
    nixos = change(facts, "host.distribution.id", "nixos")
    assert "useWindowsDriver" in run(libraries_off_path, nixos)[0].fixes[0].message


@pytest.mark.parametrize(
    ("release", "code", "verdict"),
    [
        ("5.4.72-microsoft-standard-WSL2", 0, PASS),
        ("5.4.72-microsoft-standard-WSL2", None, PASS),
        ("5.10.43.3-microsoft-standard-WSL2", 100, PASS),
        ("6.6.87.2-microsoft-standard-WSL2", 100, PASS),
        (WHY, 100, UNKNOWN),
        ("5.4.72-microsoft-standard-WSL2", WHY, UNKNOWN),
        (
            "5.4.72-microsoft-standard-WSL2",
            100,
            [("problem", "WSL runs kernel 5.4.72-microsoft-standard-WSL2, but CUDA needs 5.10.43.3 or newer.")],
        ),
        (
            "5.10.16.3-microsoft-standard-WSL2",
            100,
            [("problem", "WSL runs kernel 5.10.16.3-microsoft-standard-WSL2, but CUDA needs 5.10.43.3 or newer.")],
        ),
    ],
)
def test_kernel_too_old(release: object, code: object, verdict: list[tuple[str, str]]) -> None:
    assert ask(kernel_too_old, wsl(host__kernel__release=release, nvidia__cuda__code=code)) == verdict


@pytest.mark.parametrize(
    ("release", "first"),
    [("5.4.72-microsoft-standard-WSL2", "wsl.exe --update"), ("5.4.72-mine", "wsl.exe --shutdown")],
)
def test_a_kernel_of_ones_own_is_not_updated_by_wsl(release: str, first: str) -> None:
    facts = wsl(host__kernel__release=release, nvidia__cuda__code=100)
    assert run(kernel_too_old, facts)[0].fixes[0].commands[0] == first


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (nvidia_host(), SKIPPED),
        (wsl(host__memory=12 << 30), PASS),
        (wsl(host__memory=8 << 30, host__wsl=1), PASS),
        (wsl(host__memory=8 << 30, gpus=()), PASS),
        (wsl(host__memory=WHY), UNKNOWN),
        (wsl(host__memory=8 << 30), [("problem", "WSL has 8 GiB of memory; the GPU has 24 GiB.")]),
    ],
)
def test_memory_small(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(memory_small, facts) == verdict


def test_a_linux_driver_whose_library_crashes_is_the_cause() -> None:
    facts = wsl(nvidia__kernel__packages=UTILS, nvidia__cuda__died="SIGSEGV", nvidia__cuda__code=WHY)
    facts = change(change(facts, "nvidia.nvml.died", "SIGSEGV"), "nvidia.nvml.code", WHY)
    assert "wsl.linux-driver-installed" in roots(facts)
    assert "driver.crashes" not in roots(facts)
