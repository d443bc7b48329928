"""ROCm in WSL 2, through /dev/dxg."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.rocm.wsl_runtime import wsl_runtime
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, framework, library, live, nvidia_host, plain_host, python
from tests.checks.rocm.test_rocm import commands

WHY = Unknown("not to be seen")


def windows(env: dict[str, str] | None = None, **changes: Any) -> Facts:
    """WSL 2 with a PyTorch for ROCm that finds no GPU."""
    torch = framework(
        "torch",
        "2.9.0+rocm7.2",
        cuda=None,
        hip="7.2.1",
        variant="rocm",
        live=live(0, error="No HIP GPUs are available"),
    )
    facts = change(plain_host(pythons=(python(torch),)), "host.wsl", 2)
    facts = change(change(facts, "host.environment", env or {}), "amd.dxg", True)
    for name, value in changes.items():
        facts = change(facts, f"amd.{name}", value)
    return facts


SEES = "PyTorch 2.9.0+rocm7.2 sees no GPU through /dev/dxg: "
ON = {"HSA_ENABLE_DXG_DETECTION": "1"}


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (windows(rocdxg=False), ("problem", f"{SEES}librocdxg.so is not installed.")),
        (windows(rocdxg=True), ("problem", f"{SEES}HSA_ENABLE_DXG_DETECTION is not set to 1.")),
        (windows(ON, rocdxg=True), ("problem", f"{SEES}the HSA runtime that it loads does not find it.")),
        (
            windows(rocdxg=False, rocm="6.4.2"),
            ("problem", f"{SEES}the HSA runtime that it loads does not find it."),
        ),
        (windows(rocdxg=False, rocm="7.2.1"), ("problem", f"{SEES}librocdxg.so is not installed.")),
        (change(windows(rocdxg=False), "pythons.0.frameworks.0.live.available", True), ("pass", "")),
        (windows(dxg=False), ("pass", "")),  # wsl.no-dxg
        (windows(dxg=WHY), ("unknown", "not to be seen")),
        (change(windows(), "pythons.0.frameworks.0.live.available", WHY), ("unknown", "not to be seen")),
    ],
)
def test_wsl_runtime(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(wsl_runtime, facts) == [verdict]


def test_wsl_with_nvidia_or_without_wsl_is_no_matter_of_rocm() -> None:
    geforce = change(windows(), "nvidia.cuda.libraries", (library("libcuda.so.1"),))
    for facts in (geforce, change(windows(), "host.wsl", None), nvidia_host()):
        assert ask(wsl_runtime, facts) == [("skipped", "")]


def test_wsl_asks_frameworks_for_rocm_alone() -> None:
    cuda = change(windows(rocdxg=False), "pythons.0.frameworks.0.hip", None)
    assert ask(wsl_runtime, cuda) == [("skipped", "")]
    (verdict,) = run(wsl_runtime, windows(rocdxg=False))
    assert verdict.problem is not None
    assert verdict.problem.evidence == ("No HIP GPUs are available",)


def test_wsl_fixes_begin_with_what_is_missing() -> None:
    assert commands(wsl_runtime, windows(rocdxg=True))[0] == "export HSA_ENABLE_DXG_DETECTION=1"
    assert "libhsa-runtime64.so.off" in commands(wsl_runtime, windows(ON, rocdxg=True))[0]
    assert commands(wsl_runtime, windows(rocdxg=False))[0] == "sudo ldconfig"
