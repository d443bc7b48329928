"""A Podman from before CDI."""

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.container.podman_too_old import podman_too_old
from gpudoctor.facts import Facts
from tests.builders import UBUNTU, ask, change
from tests.checks.container.test_hosts import PASS, SKIPPED, UNKNOWN, WHY
from tests.checks.container.test_hosts import podman as host

SAYS = [("problem", "Podman 3.4.4 does not know CDI, by which the toolkit here passes GPUs to containers.")]


def podman(**changes: object) -> Facts:
    """Ubuntu 22.04's Podman, and a specification."""
    return host(None, **({"podman_version": "3.4.4", "cdi": ("/etc/cdi/nvidia.yaml",)} | changes))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (podman(), SAYS),
        (podman(podman_version="4.9.3"), PASS),
        (podman(podman_version="4.1.0"), PASS),
        (podman(hook=True), PASS),
        (podman(cdi=()), SKIPPED),
        (podman(cdi=("/etc/cdi/amd.json",)), SKIPPED),
        (podman(podman=None), SKIPPED),
        (podman(podman_version=WHY), UNKNOWN),
        (podman(hook=WHY), UNKNOWN),
    ],
)
def test_podman_too_old(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(podman_too_old, facts) == verdict


def test_next_to_docker_it_is_advice() -> None:
    machines = (podman(), podman(docker="/usr/bin/docker"))
    assert [run(podman_too_old, facts)[0].severity for facts in machines] == [Severity.WARNING, Severity.ADVICE]


def test_what_is_typed() -> None:
    newer, docker = run(podman_too_old, change(podman(), "host.distribution", UBUNTU))[0].fixes
    assert newer.message.startswith("Install Podman 4.1 or newer")
    assert newer.commands == ("apt-cache policy podman",)
    assert docker.commands == ("docker run --rm --gpus all ubuntu nvidia-smi",)
