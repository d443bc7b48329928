"""Releases of NVIDIA's container toolkit that set device rules in spite of no-cgroups."""

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.container.no_cgroups_ignored import no_cgroups_ignored
from gpudoctor.facts import Facts
from tests.builders import FEDORA, UBUNTU, ask, change
from tests.checks.container.test_hosts import PASS, SKIPPED, UNKNOWN, WHY, host

HOOK = "/etc/enroot/hooks.d/98-nvidia.sh"


def rootless(toolkit: object = "1.18.0", **changes: object) -> Facts:
    """Rootless Docker, with the setting that it needs."""
    plain: dict[str, object] = {"toolkit": toolkit, "docker_rootless": True, "no_cgroups": True, "enroot_hook": None}
    return host(None, **(plain | changes))


def enroot(toolkit: object = "1.17.7", **changes: object) -> Facts:
    """A node with enroot alone."""
    plain: dict[str, object] = {"toolkit": toolkit, "docker": None, "docker_rootless": None, "enroot_hook": HOOK}
    return host(None, **(plain | changes))


def _docker(toolkit: str) -> list[tuple[str, str]]:
    message = (
        f"Docker is rootless, and the hook of NVIDIA Container Toolkit {toolkit} tries to set the cgroup's device "
        "rules although no-cgroups is true: containers with --gpus do not start."
    )
    return [("problem", message)]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (rootless(), _docker("1.18.0")),
        (rootless("1.14.0"), _docker("1.14.0")),
        (rootless("1.18.1"), PASS),
        (rootless("1.17.8"), PASS),
        (rootless("1.17.7"), PASS),  # the hook is not the program called directly
        (rootless(docker_rootless=False), PASS),
        (rootless(no_cgroups=False), PASS),  # what container.rootless-needs-no-cgroups reports
        (rootless(toolkit="installed"), PASS),
        (rootless(toolkit=WHY), UNKNOWN),
        (rootless(docker_rootless=WHY), UNKNOWN),
        (rootless(no_cgroups=WHY), UNKNOWN),
        (
            enroot(),
            [
                (
                    "problem",
                    "enroot (and pyxis) cannot start a container with a GPU: nvidia-container-cli 1.17.7 ignores "
                    "--no-cgroups and tries to set the cgroup's device rules.",
                )
            ],
        ),
        (enroot("1.17.8"), PASS),
        (enroot("1.17.6"), PASS),
        (enroot("1.18.0"), PASS),
        (enroot(enroot_hook=None), PASS),
        (enroot(enroot_hook=WHY), UNKNOWN),
        (change(enroot(), "host.container", "docker"), SKIPPED),
        (change(rootless(), "host.wsl", 2), PASS),
    ],
)
def test_no_cgroups_ignored(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(no_cgroups_ignored, facts) == verdict


def test_with_a_cdi_specification_it_is_advice() -> None:
    assert run(no_cgroups_ignored, rootless())[0].severity is Severity.WARNING
    assert run(no_cgroups_ignored, rootless(cdi=("/var/run/cdi/nvidia.yaml",)))[0].severity is Severity.ADVICE


def _first(facts: Facts) -> tuple[str, ...]:
    return run(no_cgroups_ignored, facts)[0].fixes[0].commands


def test_the_release_that_works() -> None:
    back = _first(change(rootless(), "host.distribution", UBUNTU))
    assert back[0].startswith("sudo apt-get install --allow-downgrades nvidia-container-toolkit=1.17.8-1 ")
    assert back[1] == "systemctl --user restart docker"
    assert _first(change(rootless(), "host.distribution", FEDORA)) == ()
    assert _first(change(enroot(), "host.distribution", FEDORA))[0].startswith("sudo dnf install nvidia-container-")
    assert _first(change(rootless("1.14.0"), "host.distribution", UBUNTU))[0] == "sudo apt-get update"
