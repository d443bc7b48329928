"""CDI specifications that lack what containers need, or name what the host lacks."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.container.cdi_file_missing import cdi_file_missing
from gpudoctor.checks.container.cdi_incomplete import cdi_incomplete
from gpudoctor.checks.container.cdi_without_mig import cdi_without_mig
from gpudoctor.facts import DeviceNode, Facts
from gpudoctor.facts.container_host import CdiGone, CdiNode
from gpudoctor.maybe import Unknown
from tests.builders import ask, change
from tests.checks.container.test_hosts import PASS, SKIPPED, UNKNOWN, WHY, host, podman

ETC, VAR = "/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.yaml"
GPU, UVM, CAP = "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/nvidia-caps/nvidia-cap30"
NEWER: dict[str, Any] = {"docker_cdi": True, "docker_version": "29.1.3", "runtime_mode": "auto", "cdi_service": False}


def nodes(*paths: str, file: str = VAR, kind: str = "nvidia.com/gpu") -> tuple[CdiNode, ...]:
    return tuple(CdiNode(file=file, kind=kind, path=path) for path in paths)


def there(*found: CdiNode, **changes: Any) -> Facts:
    """A host whose Docker takes --gpus by CDI."""
    return host(**(NEWER | {"cdi": (VAR,), "cdi_nodes": found} | changes))


def without(file: str = VAR) -> list[tuple[str, str]]:
    text = f"{file} passes the GPU into containers without {UVM}: nvidia-smi works there, and CUDA does not."
    return [("problem", text)]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (there(*nodes(GPU, "/dev/nvidiactl")), without()),
        (there(*nodes(GPU, UVM)), PASS),
        (there(*nodes("/dev/nvidia-fs0")), PASS),  # of GPUDirect Storage alone
        (there(*nodes(GPU, kind="nvidia.com/gds")), PASS),
        (there(*nodes(GPU, kind="management.nvidia.com/gpu")), without()),
        (there(*nodes(GPU, UVM), *nodes(GPU, file=ETC)), PASS),  # the later directory counts
        (there(*nodes(GPU, file=ETC)), without(ETC)),
        (there(*nodes(GPU), docker_cdi=False), PASS),  # nothing reads it
        (there(*nodes(GPU), docker_cdi=WHY), PASS),
        (there(), SKIPPED),
        (there(cdi_nodes=WHY), UNKNOWN),
        (change(there(*nodes(GPU)), "host.platform", "jetson"), SKIPPED),
        (change(there(*nodes(GPU)), "host.container", "docker"), SKIPPED),
    ],
)
def test_cdi_incomplete(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(cdi_incomplete, facts) == verdict


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        (there(*nodes(GPU)), Severity.WARNING),
        (there(*nodes(GPU), docker_version="28.5.2"), Severity.ADVICE),  # --gpus takes the hook
        (there(*nodes(GPU), docker_version=Unknown("not asked")), Severity.ADVICE),
        (there(*nodes(GPU), docker_cdi=False, runtime_mode="cdi"), Severity.WARNING),
        (podman(cdi_nodes=nodes(GPU), docker_cdi=None, runtime_mode="auto"), Severity.WARNING),
        (change(there(*nodes(GPU), docker_cdi=False), "cluster.kubelet", True), Severity.WARNING),
    ],
)
def test_who_takes_gpus_from_it(facts: Facts, severity: Severity) -> None:
    assert [verdict.severity for verdict in run(cdi_incomplete, facts)] == [severity]


MAKE = "sudo nvidia-modprobe -c 0 -u"


@pytest.mark.parametrize(
    ("distribution", "service", "commands"),
    [
        ("ubuntu", True, [MAKE, "sudo systemctl restart nvidia-cdi-refresh.service", "uvm.conf"]),
        (
            "ubuntu",
            False,
            [MAKE, f"sudo nvidia-ctk cdi generate --output={VAR}", "/etc/modules-load.d/nvidia-uvm.conf"],
        ),
        # NixOS has no nvidia-modprobe.
        ("nixos", False, ["nvidia-container-toolkit-cdi-generator.service", "boot.kernelModules"]),
    ],
)
def test_the_node_is_made_first_and_again_at_each_boot(distribution: str, service: bool, commands: list[str]) -> None:
    facts = change(there(*nodes(GPU), cdi_service=service), "host.distribution.id", distribution)
    first, lasting = run(cdi_incomplete, facts)[0].fixes
    assert first.commands[0] == "sudo modprobe nvidia_uvm"
    *again, later = commands
    assert all(one in command for one, command in zip(again, first.commands[1:], strict=True))
    assert any(later in command for command in lasting.commands)


@pytest.mark.parametrize(
    ("listed", "now"),
    [
        ((DeviceNode(path=UVM, major=511, minor=0),), f"{UVM} is here now: it was made after the specification"),
        ((), f"{UVM} is not here either"),
    ],
)
def test_whether_the_host_has_the_node_is_evidence(listed: tuple[DeviceNode, ...], now: str) -> None:
    problem = run(cdi_incomplete, change(there(*nodes(GPU)), "nvidia.kernel.nodes", listed))[0].problem
    assert problem is not None
    assert problem.evidence[-1] == now


def mig(*uuids: str, facts: Facts) -> Facts:
    return change(change(facts, "gpus.0.mig", bool(uuids)), "gpus.0.mig_devices", uuids or None)


_WITHOUT = f"This machine has {{}}, but {VAR} was generated without: containers get the whole GPU or nothing."
ONE = [("problem", _WITHOUT.format("a MIG instance"))]
TWO = [("problem", _WITHOUT.format("2 MIG instances"))]


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (mig("MIG-1", facts=there(*nodes(GPU, UVM))), ONE),
        (mig("MIG-1", "MIG-2", facts=there(*nodes(GPU, UVM))), TWO),
        (mig("MIG-1", facts=there(*nodes(GPU, UVM, CAP))), PASS),
        (mig("MIG-1", facts=there(*nodes(GPU, UVM), docker_cdi=False)), PASS),
        (mig(facts=there(*nodes(GPU, UVM))), SKIPPED),
        (mig("MIG-1", facts=there()), SKIPPED),
        (mig("MIG-1", facts=there(cdi_nodes=WHY)), UNKNOWN),
    ],
)  # fmt: skip
def test_cdi_without_mig(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(cdi_without_mig, facts) == verdict


def test_mig_is_an_advice_where_gpus_takes_the_hook() -> None:
    (found,) = run(cdi_without_mig, mig("MIG-1", facts=there(*nodes(GPU, UVM), docker_version="28.5.2")))
    assert found.severity == Severity.ADVICE
    assert [fix.commands for fix in found.fixes] == [(f"sudo nvidia-ctk cdi generate --output={VAR}",)]


SOCKET = "/run/nvidia-persistenced/socket"


def gone(*paths: str, file: str = VAR, **changes: Any) -> Facts:
    missing = tuple(CdiGone(file=file, kind="nvidia.com/gpu", path=path) for path in paths)
    return there(*nodes(GPU, UVM), cdi_gone=missing, **changes)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (gone("/dev/dri/card1"),
         [("problem", f"{VAR} passes /dev/dri/card1 into containers, but this host does not have it.")]),
        (gone("/usr/lib/libnvidia-gtk3.so.610.43.03", SOCKET),
         [("problem", f"{VAR} passes /usr/lib/libnvidia-gtk3.so.610.43.03 and 1 more into containers, but this "
           "host does not have it.")]),
        (gone("/dev/dri/card1", docker_cdi=False), PASS),
        (gone(), SKIPPED),
        (change(gone("/dev/dri/card1"), "host.container", "docker"), SKIPPED),
        (change(gone("/dev/dri/card1"), "host.wsl", 2), SKIPPED),
        # Podman of a WSL distribution, after an update of the Windows driver
        (change(gone("/usr/lib/wsl/drivers/nv/libcuda.so.1.1", podman="/usr/bin/podman"), "host.wsl", 2),
         [("problem", f"{VAR} passes /usr/lib/wsl/drivers/nv/libcuda.so.1.1 into containers, but this host does not "
           "have it.")]),
    ],
)  # fmt: skip
def test_cdi_file_missing(facts: Facts, verdict: list[tuple[str, str]]) -> None:
    assert ask(cdi_file_missing, facts) == verdict


def test_what_should_be_there_is_brought_back() -> None:
    plain = run(cdi_file_missing, gone("/dev/dri/card1"))[0].fixes
    assert [fix.commands for fix in plain] == [(f"sudo nvidia-ctk cdi generate --output={VAR}",)]
    (_, service) = run(cdi_file_missing, gone(SOCKET))[0].fixes
    assert service.commands == ("sudo systemctl enable --now nvidia-persistenced",)
    advice = run(cdi_file_missing, gone(SOCKET, docker_version="28.5.2"))[0]
    assert advice.severity == Severity.ADVICE
