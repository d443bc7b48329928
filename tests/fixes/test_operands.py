"""Fixes that depend on several facts at once: each of them decides alone somewhere."""

import pytest

from gpudoctor.facts import Facts
from gpudoctor.fixes.driver import install_driver, library_packages
from gpudoctor.fixes.smoke import hardware
from gpudoctor.maybe import Unknown, known
from tests.builders import VERSION, change, nvidia_host
from tests.checks.smoke_machines import H100, run

UBUNTU = change(nvidia_host(), "nvidia.kernel.packages", ())
UNHEARD = change(change(UBUNTU, "host.distribution.id", "haiku"), "host.distribution.like", ())
NO_MODULE = change(UBUNTU, "nvidia.kernel.loaded", None)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (UBUNTU, (f"libnvidia-compute-{VERSION.partition('.')[0]}",)),
        (UNHEARD, ()),
        (NO_MODULE, ()),
        (change(NO_MODULE, "host.distribution.id", "debian"), ()),
    ],
)
def test_the_packages_of_the_drivers_libraries(facts: Facts, expected: tuple[str, ...]) -> None:
    assert library_packages(facts) == expected


def test_a_distribution_without_a_name_gets_the_guide() -> None:
    nameless = change(UBUNTU, "host.distribution.id", Unknown("/etc/os-release has no ID"))
    for facts in (nameless, UNHEARD):
        fix = install_driver(facts)
        assert "Follow this distribution's own documentation" in fix.message
        assert fix.commands == ()


def test_the_diagnostic_of_data_center_gpus_is_for_their_hosts() -> None:
    geforce = nvidia_host()
    server = change(geforce, "gpus.0.name", "NVIDIA H100 80GB HBM3")
    inside, card = change(server, "host.container", "docker"), known(server.gpus)[0]
    rows = ((server, card), (inside, card), (server, None), (geforce, known(geforce.gpus)[0]))
    found = [[fix.commands for fix in hardware(facts, run(facts, H100), gpu)] for facts, gpu in rows]
    assert ["dcgmi" in str(commands) for commands in found] == [True, False, False, False]
