"""CDI specifications that an engine refuses for a field."""

from typing import Any

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.container.cdi_not_parsed import cdi_not_parsed
from gpudoctor.checks.container.runtime_not_configured import runtime_not_configured
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, plain_host
from tests.checks.container.test_hosts import PASS, SKIPPED, UNKNOWN, WHY, host, podman

NEW: dict[str, Any] = {
    "toolkit": "1.19.1",
    "cdi": ("/var/run/cdi/nvidia.yaml",),
    "cdi_fields": {"additionalGids": "0.7.0"},
}
SAYS = "cannot parse NVIDIA's CDI specification: it has the field additionalGids (CDI 0.7.0)."


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (podman(**NEW, podman_version="4.9.3"), [("problem", f"Podman 4.9.3 {SAYS}")]),
        (host(**NEW, docker_cdi=True, docker_version="25.0.5"), [("problem", f"Docker 25.0.5 {SAYS}")]),
        (podman(**NEW, podman_version="5.1.0"), PASS),
        (podman(**NEW, podman_version="5.4.2"), PASS),
        (host(**NEW, docker_cdi=True, docker_version="28.3.0"), PASS),
        (podman(**(NEW | {"cdi_fields": {}}), podman_version=Unknown("not asked")), PASS),
        (podman(plain_host(), **NEW, podman_version="4.9.3"), PASS),
        (podman(**NEW, podman_version=WHY), UNKNOWN),
        (host(**NEW, docker_cdi=False, docker_version="25.0.5"), SKIPPED),
        (change(podman(**NEW, podman_version="4.9.3"), "host.container", "podman"), SKIPPED),
        (change(podman(**NEW, podman_version="4.9.3"), "host.wsl", 2), SKIPPED),
    ],
)
def test_cdi_not_parsed(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(cdi_not_parsed, facts) == verdict


def commands(facts: Facts) -> list[tuple[str, ...]]:
    """The commands of each fix."""
    return [fix.commands for fix in run(cdi_not_parsed, facts)[0].fixes]


def test_the_specification_is_generated_without_the_field() -> None:
    service = commands(podman(**NEW, podman_version="4.9.3"))
    assert "nvidia-cdi-refresh.env" in service[0][0]
    assert service[0][1] == "sudo systemctl restart nvidia-cdi-refresh.service"
    assert service[1][0].startswith("sudo apt-get install --allow-downgrades nvidia-container-toolkit=1.18.2-1 ")
    own = commands(podman(**(NEW | {"cdi": ("/etc/cdi/nvidia.yaml",), "toolkit": "1.18.2"}), podman_version="4.9.3"))
    assert own[0][0] == (
        "sudo nvidia-ctk cdi generate --feature-flag=no-additional-gids-for-device-nodes --output=/etc/cdi/nvidia.yaml"
    )
    assert len(own) == 2


def test_a_specification_serves_only_a_daemon_that_reads_it() -> None:
    found: dict[str, Any] = {
        "docker_runtimes": ("runc",),
        "docker_config_runtimes": (),
        "cdi": ("/var/run/cdi/nvidia.yaml",),
    }
    assert ask(runtime_not_configured, host(**found, docker_cdi=True)) == PASS
    assert ask(runtime_not_configured, host(**found, docker_cdi=WHY)) == PASS
    assert ask(runtime_not_configured, host(**found, docker_cdi=False))[0][0] == "problem"
