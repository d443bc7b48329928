"""CDI specifications whose device numbers the host no longer has."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.container.cdi_other_major import cdi_other_major
from gpudoctor.facts import DeviceNode, Facts
from gpudoctor.facts.container_host import CdiNode
from gpudoctor.tasks import Shell
from tests.builders import ask, change
from tests.checks.container.test_hosts import PASS, SKIPPED, UNKNOWN, WHY, host, podman

CAP = "/dev/nvidia-caps/nvidia-cap1"
ETC, VAR = "/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.yaml"
NODES = tuple(
    DeviceNode(path=path, major=major, minor=0)
    for path, major in [("/dev/nvidia0", 195), ("/dev/nvidia-uvm", 511), (CAP, 235)]
)
SAYS = [("problem", f"{ETC} gives /dev/nvidia-uvm the major 510 in containers; on this host it is 511.")]


def node(major: int | None, path: str = "/dev/nvidia-uvm", file: str = ETC, kind: str = "nvidia.com/gpu") -> CdiNode:
    return CdiNode(file=file, kind=kind, path=path, major=major)


def there(*nodes: CdiNode, uvm: Any = 511, facts: Facts | None = None) -> Facts:
    cdi = (node(195, "/dev/nvidia0"), *nodes)
    plain = facts or host(docker_cdi=True, cdi=(ETC,), cdi_nodes=cdi, runtime_mode="auto", cdi_service=False)
    return change(change(plain, "nvidia.kernel.nodes", NODES), "nvidia.kernel.uvm_major", uvm)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (there(node(510)), SAYS),
        (there(node(511)), PASS),
        (there(node(None)), PASS),  # the engine takes the host's
        (there(node(510), uvm=WHY), SAYS),  # as the host's node shows
        (there(node(510), uvm=None), SAYS),
        (there(node(511), uvm=510),
         [("problem", f"{ETC} gives /dev/nvidia-uvm the major 511 in containers; on this host it is 510.")]),
        (there(node(236, CAP)),
         [("problem", f"{ETC} gives {CAP} the major 236 in containers; on this host it is 235.")]),
        (there(node(236, "/dev/nvidia-caps/nvidia-cap2")), PASS),  # the host has no such node
        # the module's major counts before its node is made
        (there(node(510, "/dev/nvidia-uvm-tools")), [("problem", SAYS[0][1].replace("-uvm", "-uvm-tools"))]),
        (change(there(node(510)), "nvidia.kernel.nodes", ()), SAYS),
        (change(there(node(510), uvm=None), "nvidia.kernel.nodes", ()),
         [("unknown", "the host has none of the nodes that the specification numbers")]),
        (change(there(node(510), uvm=WHY), "nvidia.kernel.nodes", ()), UNKNOWN),
        (change(there(node(236, CAP)), "nvidia.kernel.nodes.2.major", WHY), UNKNOWN),
        (change(there(node(510), node(235, CAP)), "nvidia.kernel.nodes.2.major", WHY), SAYS),
        (there(node(510), node(511, file=VAR)), PASS),  # the later directory has the same devices
        (there(node(510), node(None, file=VAR)), PASS),
        (there(node(510), node(511, file=VAR, kind="management.nvidia.com/gpu")), SAYS),
        (change(there(node(510)), "nvidia.kernel.nodes", WHY), UNKNOWN),
        (there(facts=host(cdi_nodes=())), SKIPPED),
        (there(facts=host(cdi_nodes=WHY)), UNKNOWN),
        (change(there(node(510)), "host.container", "docker"), SKIPPED),
    ],
)  # fmt: skip
def test_cdi_other_major(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(cdi_other_major, facts) == verdict


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"docker_cdi": True, "docker_rootless": False}, Severity.WARNING),
        ({"docker_cdi": True, "docker_rootless": True}, Severity.ADVICE),  # the host's nodes are mounted
        ({"docker_cdi": False}, Severity.ADVICE),
        ({"docker_cdi": WHY}, Severity.ADVICE),
        ({"docker_cdi": False, "runtime_mode": "cdi"}, Severity.WARNING),
    ],
)
def test_who_reads_it(changes: dict[str, Any], severity: Severity) -> None:
    facts = there(facts=host(cdi_nodes=(node(510),), **changes))
    assert [verdict.severity for verdict in run(cdi_other_major, facts)] == [severity]


def test_podman_alone_is_mostly_rootless() -> None:
    facts = there(facts=podman(cdi_nodes=(node(510),), docker_cdi=None, runtime_mode="auto"))
    assert [verdict.severity for verdict in run(cdi_other_major, facts)] == [Severity.ADVICE]


@pytest.mark.parametrize(
    ("file", "distribution", "service", "command"),
    [
        (ETC, "arch", True, f"sudo nvidia-ctk cdi generate --output={ETC}"),
        (VAR, "arch", False, f"sudo nvidia-ctk cdi generate --output={VAR}"),
        (VAR, "ubuntu", True, "sudo systemctl restart nvidia-cdi-refresh.service"),
        (
            "/var/run/cdi/nvidia-container-toolkit.json",
            "nixos",
            False,
            "sudo systemctl restart nvidia-container-toolkit-cdi-generator.service",
        ),
        ("/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json", "ubuntu", True, None),
    ],
)
def test_what_writes_it_again(file: str, distribution: str, service: bool, command: str | None) -> None:
    facts = there(facts=host(docker_cdi=True, cdi_nodes=(node(510, file=file),), cdi_service=service))
    (fix,) = run(cdi_other_major, change(facts, "host.distribution.id", distribution))[0].fixes
    assert fix.commands == (() if command is None else (command,))
    assert ("device plugin" in fix.message) == (command is None)
    assert command is None or fix.verify == Shell(
        f"grep -A3 -E '/dev/nvidia-(uvm|caps)' {file}; grep nvidia /proc/devices", lookup=True
    )
