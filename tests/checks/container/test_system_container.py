"""Device nodes that a container with a whole system cannot open: LXC's groups, and what its host gives the nodes."""

import msgspec
import pytest

from gpudoctor.check_engine import Fix, run
from gpudoctor.checks.driver.device_nodes_closed import device_nodes_closed
from gpudoctor.checks.intel.render_node_closed import render_node_closed
from gpudoctor.checks.rocm.kfd_no_permission import kfd_no_permission
from gpudoctor.facts import Facts, UserGroup
from tests.builders import change, nvidia_host
from tests.checks.amd_machines import amd_host, kfd
from tests.checks.intel_machines import CLOSED, arc_host, xpu

RENDER, VIDEO = UserGroup(gid=104, name="render"), UserGroup(gid=44, name="video")


def container(facts: Facts, engine: str = "lxc", mine: tuple[UserGroup, ...] = (RENDER,)) -> Facts:
    """The machine's facts from inside of a container whose groups are render and video."""
    facts = change(change(facts, "host.container", engine), "host.user.name", "ada")
    return change(change(facts, "host.user.groups", mine), "host.user.known_groups", (RENDER, VIDEO))


def fixes_of(gid: int, mine: tuple[UserGroup, ...] = (RENDER,)) -> tuple[Fix, ...]:
    [verdict] = run(kfd_no_permission, container(amd_host(kfd=(kfd(error="EACCES", mode="660", gid=gid),)), mine=mine))
    return verdict.fixes


def test_who_is_in_render_needs_the_host_to_give_the_node_to_render() -> None:
    first, second = fixes_of(44)
    assert first.place == "outside"
    assert "pct set CTID -devN /dev/kfd,gid=104" in first.commands
    assert second.commands == ("sudo usermod -aG video ada",)


def test_who_is_in_no_group_joins_the_nodes_group() -> None:
    first, second = fixes_of(104, mine=())
    assert first.commands == ("sudo usermod -aG render ada",)
    assert second.place == "outside"


@pytest.mark.parametrize("gid", [0, 65534, 993])
def test_a_group_that_the_container_does_not_know_is_the_hosts_matter(gid: int) -> None:
    [only] = fixes_of(gid)
    assert only.place == "outside"
    assert "pct set CTID -devN /dev/kfd,gid=104" in only.commands


def test_the_same_holds_for_nvidia_and_intel() -> None:
    nodes = tuple(
        msgspec.structs.replace(n, error="EACCES", mode="660", gid=44)
        for n in nvidia_host().nvidia.kernel.nodes  # type: ignore[union-attr]
    )
    nvidia = container(change(nvidia_host(), "nvidia.kernel.nodes", nodes))
    arc = container(arc_host(xpu(), intel__render=(msgspec.structs.replace(CLOSED, error="EACCES", gid=44),)))
    for check, facts in ((device_nodes_closed, nvidia), (render_node_closed, arc)):
        commands = [c for verdict in run(check, facts) for fix in verdict.fixes for c in fix.commands]
        assert any(c.startswith("pct set CTID -devN /dev/") for c in commands), commands
        assert "sudo usermod -aG video ada" in commands


def test_docker_has_no_groups_of_its_own() -> None:
    facts = container(amd_host(kfd=(kfd(error="EACCES", mode="660", gid=44),)), "docker")
    assert [fix.commands for verdict in run(kfd_no_permission, facts) for fix in verdict.fixes] == [
        ("docker run --device /dev/kfd --device /dev/dri --group-add 44 ...",)
    ]
