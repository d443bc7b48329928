"""The node of nvidia-uvm with the number of an earlier boot."""

import msgspec

from gpudoctor import catalogue
from tests.checks.nvidia_machines import having


def test_a_node_with_an_old_major_in_a_container_comes_from_its_specification() -> None:
    nodes = having().nvidia.kernel.nodes
    assert isinstance(nodes, tuple)
    old = tuple(msgspec.structs.replace(n, major=511) if n.path == "/dev/nvidia-uvm" else n for n in nodes)
    facts = having(
        host__container="docker", nvidia__kernel__nodes=old, nvidia__kernel__uvm_major=509, nvidia__cuda__code=999
    )
    first, second = catalogue.load(["driver.uvm-missing"])[0].fixes_for(facts)
    assert "cdi generate" in first.commands[0]
    assert "recreate the container" in second.message
