"""gVisor's nvproxy and the installed driver."""

import pytest

from gpudoctor.checks.container.gvisor_driver_unknown import gvisor_driver_unknown
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host

CONFIG = "/etc/containerd/runsc.toml"


def node(drivers: object, config: str = CONFIG, loaded: object = "570.211.01") -> Facts:
    """A node whose runsc knows these drivers."""
    facts = change(nvidia_host(), "nvidia.kernel.loaded", loaded)
    return change(change(facts, "containers.gvisor_drivers", drivers), "containers.gvisor_config", config)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (
            node(("550.90.12", "570.86.15", "570.195.03", "580.65.06")),
            (
                "problem",
                "This runsc does not take driver 570.211.01 (nvproxy); of its branch it takes 570.195.03: sandboxes "
                "with a GPU do not start.",
            ),
        ),
        (
            node(("550.90.12",)),
            ("problem", "This runsc does not take driver 570.211.01 (nvproxy): sandboxes with a GPU do not start."),
        ),
        (node(("570.211.01",)), ("pass", "")),
        (node(None), ("pass", "")),
        (node(("570.86.15",), loaded=None), ("pass", "")),
        (node(Unknown("it lists none")), ("unknown", "it lists none")),
    ],
)
def test_gvisor_driver_unknown(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(gvisor_driver_unknown, facts) == [verdict]


def test_the_nearest_version_goes_into_the_shims_file() -> None:
    newer, as_near, driver = gvisor_driver_unknown.fixes_for(node(("570.86.15", "570.195.03")))
    assert newer.commands == ("runsc --version", "runsc nvproxy list-supported-drivers")
    assert as_near.commands[0].endswith(f'nvproxy-driver-version = "570.195.03"\' {CONFIG}')
    assert "570.195.03" in driver.message
    assert len(gvisor_driver_unknown.fixes_for(node(("570.86.15",), "/etc/docker/daemon.json"))) == 2
    assert len(gvisor_driver_unknown.fixes_for(node(("550.90.12",)))) == 1
