"""Toolkits that the libnvidia-sandboxutils of a driver ends."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.container.cdi_generation_crashes import cdi_generation_crashes
from gpudoctor.facts import Facts
from tests.builders import ask, change, nvidia_host
from tests.checks.container.test_hosts import PASS, SKIPPED, UNKNOWN, WHY, host

SAYS = [
    (
        "problem",
        "NVIDIA Container Toolkit 1.18.2 crashes with the libnvidia-sandboxutils of driver 565.57.01: the service "
        "nvidia-cdi-refresh is installed, and there is no CDI specification.",
    )
]


def with_driver(version: str, **changes: Any) -> Facts:
    plain: dict[str, Any] = {"toolkit": "1.18.2", "cdi_service": True, "runtime_mode": "auto"}
    facts = host(nvidia_host(), **(plain | changes))
    for path in ("nvidia.nvml.libraries.0.version", "nvidia.cuda.libraries.0.version"):
        facts = change(facts, path, version)
    return facts


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (with_driver("565.57.01"), SAYS),
        (with_driver("565.57.01", cdi=("/etc/cdi/amd.json",)), SAYS),
        (with_driver("565.57.01", cdi=("/var/run/cdi/nvidia.yaml",)), PASS),  # it was generated
        (with_driver("565.57.01", cdi_service=False), PASS),
        (with_driver("565.57.01", cdi_service=WHY), UNKNOWN),
        (with_driver("565.57.01", toolkit="1.17.9"), PASS),
        (with_driver("565.57.01", toolkit="installed"), PASS),
        (with_driver("565.57.01", toolkit=None), PASS),
        (with_driver("570.86.15"), PASS),
        (with_driver("550.163.01"), PASS),
        (change(with_driver("565.57.01"), "host.container", "docker"), SKIPPED),
    ],
)
def test_cdi_generation_crashes(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(cdi_generation_crashes, facts) == verdict


def test_the_flag_against_it_came_with_1_18_1() -> None:
    flag = run(cdi_generation_crashes, with_driver("565.57.01"))[0].fixes[-1]
    assert any("nvcdi-feature-flags=disable-nvsandboxutils" in command for command in flag.commands)
    older = run(cdi_generation_crashes, with_driver("565.57.01", toolkit="1.18.0"))[0].fixes[-1]
    assert any("nvidia-container-toolkit=1.17.9-1" in command for command in older.commands)
