"""Checks of variables that name interfaces, devices, files and compilers."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.environment.interface_missing import chosen, interface_missing
from gpudoctor.checks.environment.path_missing import path_missing
from gpudoctor.facts import Facts, NamedPath, NcclSetting
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host, plain_host
from tests.checks.environments import commands

WHY = Unknown("no /proc")
THERE = ("lo", "docker0", "ens3f0", "ens3f1")


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("ens3", ["ens3f0", "ens3f1"]),
        ("ens3f0,docker", ["docker0", "ens3f0"]),
        ("=ens3f0", ["ens3f0"]),
        ("=ens3", []),
        ("=ens3f0,ens3f1", ["ens3f0", "ens3f1"]),
        ("^lo,docker", ["ens3f0", "ens3f1"]),
        ("^=ens3f0", ["lo", "docker0", "ens3f1"]),
        ("^lo,docker,ens", []),
        ("ens3f0:1", ["ens3f0"]),
        ("bond0", []),
        (",", list(THERE)),
        ("^", list(THERE)),
    ],
)
def test_what_nccl_chooses(value: str, names: list[str]) -> None:
    assert chosen(value, THERE) == names


def network(gpus: int = 8, there: Any = THERE, rdma: Any = (), **variables: str) -> Facts:
    """A machine with these interfaces, RDMA devices and variables."""
    facts = change(change(nvidia_host(gpus), "host.interfaces", there), "host.rdma_devices", rdma)
    return change(facts, "host.environment", variables)


SAID = "of this machine (ens3f0, ens3f1, lo, docker0): "


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (network(), None),
        (network(NCCL_SOCKET_IFNAME="ens"), None),
        (network(NCCL_SOCKET_IFNAME="^lo,docker0"), None),
        (network(NCCL_SOCKET_IFNAME=""), None),
        (change(plain_host(), "host.environment", {"NCCL_SOCKET_IFNAME": "bond0"}), None),
        (
            network(NCCL_SOCKET_IFNAME="bond0"),
            f"NCCL_SOCKET_IFNAME names bond0, which matches no network interface {SAID}NCCL stops with 'no socket "
            "interface found'.",
        ),
        (network(GLOO_SOCKET_IFNAME="ens3f0"), None),
        (
            network(GLOO_SOCKET_IFNAME="ens3f0,eth0"),
            f"GLOO_SOCKET_IFNAME names eth0, which matches no network interface {SAID}Gloo finds no address for it.",
        ),
        (network(TP_SOCKET_IFNAME="lo"), None),
        (network(NCCL_IB_HCA="mlx5"), None),  # nothing here has RDMA, so NCCL uses sockets as without it
        (network(NCCL_IB_HCA="^mlx5_1", rdma=("mlx5_0", "mlx5_1")), None),
        (network(NCCL_IB_HCA="=mlx5_0:1", rdma=("mlx5_0", "mlx5_1")), None),
        (
            network(NCCL_IB_HCA="=mlx5_4", rdma=("mlx5_0", "mlx5_1")),
            "NCCL_IB_HCA names =mlx5_4, which matches no RDMA device of this machine (mlx5_0, mlx5_1): NCCL uses slow "
            "network sockets instead of RDMA.",
        ),
    ],
)
def test_interface_missing(facts: Facts, message: str | None) -> None:
    assert ask(interface_missing, facts) == [("problem", message) if message else ("pass", "")]


def test_interfaces_that_nobody_could_list() -> None:
    assert ask(interface_missing, network(there=WHY, NCCL_SOCKET_IFNAME="bond0")) == [("unknown", "no /proc")]
    assert ask(interface_missing, network(rdma=WHY, NCCL_IB_HCA="mlx5")) == [("unknown", "no /proc")]


@pytest.mark.parametrize(("gpus", "severity"), [(8, Severity.ERROR), (1, Severity.WARNING)])
def test_several_gpus_need_an_interface(gpus: int, severity: Severity) -> None:
    (verdict,) = run(interface_missing, network(gpus, NCCL_SOCKET_IFNAME="bond0"))
    assert verdict.severity is severity


def test_the_only_interface_is_proposed() -> None:
    text = commands(interface_missing, network(there=("lo", "eth0", "docker0", "veth1"), NCCL_SOCKET_IFNAME="bond0"))
    assert "unset NCCL_SOCKET_IFNAME" in text
    assert "export NCCL_SOCKET_IFNAME=eth0" in text
    assert "export" not in commands(interface_missing, network(NCCL_SOCKET_IFNAME="bond0"))


def test_nccl_reads_its_own_file_where_the_environment_says_nothing() -> None:
    settings = (NcclSetting(name="NCCL_SOCKET_IFNAME", value="bond0", file="/etc/nccl.conf"),)
    facts = change(network(), "host.nccl_settings", settings)
    (verdict,) = run(interface_missing, facts)
    assert verdict.message.startswith("NCCL_SOCKET_IFNAME (in /etc/nccl.conf) names bond0, which matches no network")
    assert verdict.severity is Severity.ERROR
    typed = commands(interface_missing, facts)
    assert "sudo sed -i -e s/^NCCL_SOCKET_IFNAME=/#&/ /etc/nccl.conf" in typed.replace("'", "")
    assert "unset" not in typed
    facts = change(network(GLOO_SOCKET_IFNAME="eth0"), "host.nccl_settings", settings)
    assert "unset GLOO_SOCKET_IFNAME" in commands(interface_missing, facts)
    assert "/etc/nccl.conf" in commands(interface_missing, facts)
    facts = change(network(NCCL_SOCKET_IFNAME="ens"), "host.nccl_settings", settings)
    assert ask(interface_missing, facts) == [("pass", "")]


def named(variable: str, path: str, exists: Any) -> Facts:
    """A machine on which a variable names a path."""
    facts = change(nvidia_host(), "toolkits.named_paths", (NamedPath(variable=variable, path=path, exists=exists),))
    return change(facts, "host.environment", {variable: path})


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (named("CC", "/usr/bin/gcc-12", True), ("pass", "")),
        (named("CC", "/usr/bin/gcc-12", Unknown("closed")), ("unknown", "closed")),
        (named("TRITON_PTXAS_PATH", "/gone/ptxas", False), ("pass", "")),  # Triton takes its own
        (
            named("NVCC_CCBIN", "g++-12", False),
            ("problem", "NVCC_CCBIN names g++-12, which is not on PATH: nvcc compiles nothing."),
        ),
        (
            named("CC", "/opt/gone/bin/gcc", False),
            (
                "problem",
                "CC names /opt/gone/bin/gcc, which does not exist: torch.compile, Triton and everything that builds C "
                "extensions fail.",
            ),
        ),
    ],
)
def test_path_missing(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(path_missing, facts) == [verdict]
    if verdict[0] == "problem":
        assert f"unset {facts.toolkits.named_paths[0].variable}" in commands(path_missing, facts)


@pytest.mark.parametrize(
    ("variables", "found"),
    [
        ({"NCCL_SOCKET_IFNAME": "^docker0", "NNODES": "2"}, True),
        ({"NCCL_SOCKET_IFNAME": "^docker0", "SLURM_JOB_NUM_NODES": "4"}, True),
        ({"NCCL_SOCKET_IFNAME": "^docker0", "WORLD_SIZE": "16"}, True),
        ({"NCCL_SOCKET_IFNAME": "^docker0", "WORLD_SIZE": "8"}, False),  # all of them are here
        ({"NCCL_SOCKET_IFNAME": "^docker0"}, False),
        ({"NCCL_SOCKET_IFNAME": "^lo,docker", "NNODES": "2"}, False),
        ({"NCCL_SOCKET_IFNAME": "ens", "NNODES": "2"}, False),
    ],
)
def test_exclusions_of_ones_own_let_the_loopback_in(variables: dict[str, Any], found: bool) -> None:
    """NCCL excludes lo only as long as the variable is not set, and a job of one node may use it."""
    (verdict,) = run(interface_missing, network(**variables))
    assert (verdict.severity is Severity.ERROR and "exclusion of lo" in verdict.message) is found
    if found:
        assert "export NCCL_SOCKET_IFNAME='^lo,docker0'" in commands(interface_missing, network(**variables))
