"""A node of Kubernetes has other pods: it is drained before a reboot, and cordoned while its runtime restarts."""

import pytest

from gpudoctor.check_engine import Fix
from gpudoctor.checks.container.rootless_needs_no_cgroups import rootless_needs_no_cgroups
from gpudoctor.checks.container.runtime_not_configured import runtime_not_configured
from gpudoctor.facts import Facts
from gpudoctor.report.fixes import can_carry, entry
from gpudoctor.tasks import as_root, query
from tests.builders import change, nvidia_host

REBOOT = Fix("Reboot.", (as_root("reboot"),), root=True, needs="reboot")
RESTART = Fix("Restart it.", (as_root("systemctl", "restart", "containerd"),), root=True)
LOOK = Fix("Look.", (query("nvidia-smi"),))
NODE = change(nvidia_host(), "cluster.kubelet", True)
POD = change(change(nvidia_host(), "host.container", "containerd"), "host.kubernetes", True)
OUTSIDE = Fix("On the host: reboot.", (as_root("reboot"),), root=True, place="outside")


@pytest.mark.parametrize(
    ("facts", "fix", "first"),
    [
        (NODE, REBOOT, "kubectl drain NODE"),
        (POD, OUTSIDE, "kubectl drain NODE"),
        (NODE, RESTART, "kubectl cordon NODE"),
    ],
)
def test_other_pods_come_first(facts: Facts, fix: Fix, first: str) -> None:
    made = entry(fix, facts)
    assert made.commands[0].startswith(first)
    assert made.commands[-1] == "kubectl uncordon NODE"
    assert made.message.startswith(fix.message)
    assert not can_carry(made.tasks, made.place)  # only its operator knows when


@pytest.mark.parametrize(
    ("facts", "fix"), [(NODE, LOOK), (NODE, OUTSIDE), (nvidia_host(), REBOOT), (nvidia_host(), RESTART), (POD, RESTART)]
)
def test_elsewhere_and_for_other_steps_nothing_is_added(facts: Facts, fix: Fix) -> None:
    assert entry(fix, facts).tasks == fix.tasks


def test_rootless_docker_gets_a_way_that_leaves_the_systems_daemon_alone() -> None:
    facts = change(nvidia_host(), "containers.docker_rootless", True)
    for one in (runtime_not_configured, rootless_needs_no_cgroups):
        first, second, *_ = one.fixes_for(facts)
        assert not any("no-cgroups" in command for command in first.commands)
        assert any("cdi.enabled" in command for command in first.commands)
        assert any("no-cgroups=true" in command for command in second.commands)
        assert second.message.startswith("If the system's daemon starts no GPU containers")
