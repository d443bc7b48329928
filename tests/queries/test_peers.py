"""Which GPUs write to one another over PCIe."""

import pytest

from gpudoctor.queries.peers import pcie_peers
from tests.builders import nvidia_host
from tests.checks.nvidia_machines import having

FORCED = "ForceP2P=17;RMForceP2PType=1;RMPcieP2PType=1"


@pytest.mark.parametrize(
    ("options", "parameters", "peers"),
    [
        ({}, {}, 0),
        ({"nvidia.NVreg_RegistryDwords": FORCED}, {}, 2),
        ({}, {"RegistryDwords": FORCED}, 2),
        ({"nvidia.NVreg_RegistryDwords": "PeerMappingOverride=1;"}, {}, 0),
    ],
)
def test_cards_that_an_option_makes_peers(options: dict[str, str], parameters: dict[str, str], peers: int) -> None:
    facts = having(nvidia_host(2), nvidia__kernel__options=options, nvidia__kernel__parameters=parameters)
    assert len(pcie_peers(facts)) == peers
