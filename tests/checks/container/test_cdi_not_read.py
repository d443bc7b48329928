"""CDI specifications in directories that Podman does not read."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.container.cdi_not_read import cdi_not_read
from gpudoctor.facts import Facts
from tests.builders import ask, change, plain_host
from tests.checks.container.test_hosts import PASS, SKIPPED, UNKNOWN, WHY, host, podman

VAR: dict[str, Any] = {"cdi": ("/var/run/cdi/nvidia.yaml",), "podman_version": "5.5.1", "podman_cdi_dirs": None}
ALONE = "Podman 5.5.1 reads CDI specifications from /etc/cdi alone; NVIDIA's is /var/run/cdi/nvidia.yaml."
SET = "Podman reads CDI specifications from /opt/cdi (cdi_spec_dirs); NVIDIA's is /var/run/cdi/nvidia.yaml."


def there(**changes: Any) -> Facts:
    return podman(**(VAR | changes))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (there(), [("problem", ALONE)]),
        (there(podman_version="5.5.2"), [("problem", ALONE.replace("5.5.1", "5.5.2"))]),
        (there(podman_version="5.4.2"), PASS),
        (there(podman_version="5.6.0"), PASS),
        (there(podman_version="4.9.3"), PASS),
        (there(cdi=("/etc/cdi/nvidia.yaml",)), PASS),
        (there(cdi=("/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.yaml")), PASS),
        (there(podman_cdi_dirs=("/etc/cdi", "/run/cdi")), PASS),
        (there(podman_cdi_dirs=("/var/run/cdi/",), podman_version=WHY), PASS),
        (there(podman_cdi_dirs=("/opt/cdi",), podman_version="5.6.0"), [("problem", SET)]),
        (there(podman_cdi_dirs=WHY), UNKNOWN),
        (there(podman_version=WHY), UNKNOWN),
        (there(cdi=()), SKIPPED),  # container.cdi-missing
        (there(cdi=("/var/run/cdi/amd.yaml",)), SKIPPED),
        (there(podman=None), SKIPPED),
        (change(there(), "host.container", "docker"), SKIPPED),
        (podman(plain_host(), **VAR), PASS),  # no GPU that works
    ],
)
def test_cdi_not_read(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(cdi_not_read, facts) == verdict


def test_next_to_docker_it_is_advice() -> None:
    facts = host(**(VAR | {"podman": "/usr/bin/podman"}))
    assert [v.severity for v in run(cdi_not_read, facts)] == [Severity.ADVICE]


def test_what_is_typed() -> None:
    def commands(facts: Facts) -> str:
        return "\n".join(command for fix in run(cdi_not_read, facts)[0].fixes for command in fix.commands)

    assert 'cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]' in commands(there())
    nixos = commands(change(there(), "host.distribution.id", "nixos"))
    assert 'engine.cdi_spec_dirs = [ "/etc/cdi" "/var/run/cdi" ];' in nixos
    assert "/etc/containers" not in nixos
    own = commands(there(podman_cdi_dirs=("/opt/cdi",)))
    assert own.startswith("podman --cdi-spec-dir=/var/run/cdi run")
