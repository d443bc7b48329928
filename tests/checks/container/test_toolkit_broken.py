"""Programs of the toolkit that the loader cannot start."""

import pytest

from gpudoctor.check_engine import run
from gpudoctor.checks.container.toolkit_broken import toolkit_broken
from gpudoctor.facts import Facts
from tests.builders import ask, change, plain_host
from tests.checks.container.test_hosts import PASS, SKIPPED, UNKNOWN, WHY, host

CLI = "/usr/bin/nvidia-container-cli"
ERROR = f"{CLI}: error while loading shared libraries: libelf.so.1: cannot open shared object file: No such file"


def broken(identity: str = "ubuntu", error: str = ERROR) -> Facts:
    """A host of this distribution whose toolkit cannot start."""
    return change(host(toolkit_error=error), "host.distribution.id", identity)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (
            broken(),
            [
                (
                    "problem",
                    f"{CLI} cannot start on Ubuntu 24.04.3 LTS: libelf.so.1: cannot open shared object file: No such "
                    "file. No container gets the GPU through it.",
                )
            ],
        ),
        (host(), PASS),
        (host(toolkit=None), PASS),
        (host(toolkit_error=WHY), UNKNOWN),
        (host(plain_host(), toolkit_error=ERROR), SKIPPED),
        (change(broken(), "host.container", "docker"), SKIPPED),
    ],
)
def test_toolkit_broken(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(toolkit_broken, facts) == verdict


@pytest.mark.parametrize(
    ("identity", "library", "command"),
    [
        ("ubuntu", "libelf.so.1", "sudo apt-get install libelf1"),
        ("fedora", "libelf.so.1", "sudo dnf install elfutils-libelf"),
        ("ubuntu", "libnvidia-container.so.1", "nvidia-container-toolkit-base"),
        ("talos", "libelf.so.1", "talosctl upgrade --nodes NODE --image INSTALLER_IMAGE"),
    ],
)
def test_what_brings_the_library(identity: str, library: str, command: str) -> None:
    facts = broken(identity, ERROR.replace("libelf.so.1", library))
    if identity == "talos":
        facts = change(facts, "host.distribution.like", ())
    fixes = run(toolkit_broken, facts)[0].fixes
    assert command in " ".join(fixes[0].commands)


def test_a_distribution_without_packages_gets_no_command() -> None:
    facts = change(broken("slackware"), "host.distribution.like", ())
    assert [fix.commands for fix in run(toolkit_broken, facts)[0].fixes] == [()]
