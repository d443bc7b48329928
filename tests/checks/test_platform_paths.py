"""What lies between GPUs and memory: IOMMU, ACS, links that err, far processors, limits of locked memory."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.host.address_space_limit import address_space_limit
from gpudoctor.checks.host.far_cpus import far_cpus
from gpudoctor.checks.host.memlock_small import memlock_small
from gpudoctor.checks.host.numa_balancing import numa_balancing
from gpudoctor.checks.link.pcie_errors import pcie_errors
from gpudoctor.checks.link.peers_redirected import peers_redirected
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.builders import ask, change, nvidia_host, plain_host
from tests.checks.amd_machines import amd_host, instinct_node
from tests.checks.nvidia_machines import having

WHY = Unknown("nobody looked")
ROOT = Unknown("the configuration space of PCI bridges can be read by root alone")
ADA: dict[str, Any] = {"name": "NVIDIA RTX 6000 Ada Generation", "nvlinks": None}
TRANSLATES = "The IOMMU translates the addresses of 2 GPUs that are connected only through PCIe."
SWITCHED = (
    "GPU 0 (NVIDIA RTX 6000 Ada Generation) and GPU 1 (NVIDIA RTX 6000 Ada Generation) share a PCIe switch, whose "
    "ports redirect their P2P traffic through the CPU (ACS)."
)


def pair(of_gpu: dict[str, Any] | None = None, switch: bool = False, **of_card: Any) -> Facts:
    """Two workstation cards, beneath two root ports or one switch."""
    facts = nvidia_host(2)
    for i in range(2):
        above = ("0000:00:01.0", "0000:0a:00.0", f"0000:0b:0{i}.0") if switch else (f"0000:0{i}:01.0",)
        changes = {f"gpus__{i}__{name}": value for name, value in (ADA | (of_gpu or {})).items()}
        changes |= {f"pci__{i}__{name}": value for name, value in ({"ports": above} | of_card).items()}
        facts = having(facts, **changes)
    return facts


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (pair(), ("pass", "")),
        (pair(iommu="identity"), ("pass", "")),
        (pair(iommu="DMA-FQ"), ("problem", TRANSLATES)),
        (pair(iommu="DMA"), ("problem", TRANSLATES)),
        (pair(iommu=WHY), ("unknown", "nobody looked")),
        (pair(iommu="identity", acs=True), ("pass", "")),  # two root ports: the way leads over the processor anyhow
        (pair(switch=True, iommu="identity", acs=False), ("pass", "")),
        (pair(switch=True, iommu="identity", acs=True), ("problem", SWITCHED)),
        (pair(switch=True, iommu="identity", acs=ROOT), ("unknown", ROOT.unknown)),
        (pair({"name": "NVIDIA GeForce RTX 4090"}, iommu="DMA-FQ"), ("pass", "")),
        (pair({"nvlinks": (True, True)}, iommu="DMA-FQ"), ("pass", "")),
        (pair({"nvlinks": (False, False)}, iommu="DMA-FQ"), ("problem", TRANSLATES)),
        (pair({"nvlinks": WHY}, iommu="DMA-FQ"), ("pass", "")),
        (pair({"mig": True}, iommu="DMA-FQ"), ("pass", "")),
        (having(pair(iommu="DMA-FQ"), host__virtual="kvm"), ("pass", "")),
        (having(pair(iommu="DMA-FQ"), host__platform="grace"), ("pass", "")),
        (nvidia_host(1), ("skipped", "")),
    ],
)
def test_peers_redirected(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(peers_redirected, facts) == [verdict]


def test_the_fixes_name_what_was_found() -> None:
    (translated,) = run(peers_redirected, pair(iommu="DMA-FQ"))
    assert translated.severity is Severity.ADVICE
    assert translated.fixes[0].commands[1:] == ("sudo update-grub", "sudo reboot")
    (switched,) = run(peers_redirected, pair(switch=True, iommu="identity", acs=True))
    assert switched.severity is Severity.WARNING
    assert switched.fixes[0].commands == (
        "sudo setpci -s 0000:0b:00.0 ECAP_ACS+6.w=0000",
        "sudo setpci -s 0000:0b:01.0 ECAP_ACS+6.w=0000",
    )


def erring(replays: object, errors: object, uptime: object = 6000.0, **changes: Any) -> Facts:
    """A machine whose link counts errors."""
    counted = {"gpus__0__pcie_replays": replays, "pci__0__link_errors": errors, "host__uptime": uptime}
    return having(nvidia_host(), **(counted | changes))


AGAIN = "5000 packets were sent again over the PCIe link of GPU 0 (NVIDIA GeForce RTX 4090), 50 per minute since boot."
CORRECTED = "5000 errors were corrected on the PCIe link of GPU 0 (NVIDIA GeForce RTX 4090), 50 per minute since boot."


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (erring(0, ()), ("pass", "")),
        (erring(30, (("BadTLP", 30),)), ("pass", "")),
        (erring(5000, ()), ("problem", AGAIN)),
        (erring(0, (("BadTLP", 4000), ("RxErr", 1000))), ("problem", CORRECTED)),
        (erring(5000, (), 40 * 86400.0), ("pass", "")),  # few a minute over weeks
        (erring(5000, (), WHY), ("unknown", "nobody looked")),
        (erring(0, (), WHY), ("pass", "")),
        (erring(WHY, WHY), ("unknown", "nobody looked")),
        (erring(WHY, ()), ("pass", "")),
        (erring(None, None), ("pass", "")),
        (erring(0, WHY), ("pass", "")),
        (erring(5000, (), gpus__0__integrated=True), ("pass", "")),
        (erring(5000, (), host__platform="grace"), ("pass", "")),
    ],
)
def test_pcie_errors(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(pcie_errors, facts) == [verdict]


def test_only_what_has_to_be_sent_again_is_a_warning() -> None:
    assert [v.severity for v in run(pcie_errors, erring(5000, ()))] == [Severity.WARNING]
    (verdict,) = run(pcie_errors, erring(3, (("BadTLP", 4000), ("RxErr", 1000))))
    assert verdict.severity is Severity.ADVICE
    assert verdict.problem is not None
    assert verdict.problem.evidence == (
        "NVML's replay counter: 3",
        "corrected at both ends: BadTLP 4000, RxErr 1000",
    )


FAR = "This process may run on CPUs 32-63, but none of them is local to its GPU (local CPUs: 0-31)."


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (nvidia_host(), ("pass", "")),
        (having(nvidia_host(), host__cpu_list="32-63"), ("problem", FAR)),
        (having(nvidia_host(), host__cpu_list="31-63"), ("pass", "")),
        (having(nvidia_host(2), host__cpu_list="32-63", pci__1__local_cpus="32-63"), ("pass", "")),
        (having(nvidia_host(), host__cpu_list="32-63", pci__0__local_cpus=None), ("pass", "")),
        (having(nvidia_host(), host__cpu_list=WHY), ("unknown", "nobody looked")),
        (having(nvidia_host(), pci__0__local_cpus=WHY), ("unknown", "nobody looked")),
        (plain_host(), ("pass", "")),
    ],
)
def test_far_cpus(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(far_cpus, facts) == [verdict]


def test_only_the_gpus_that_programs_see_count() -> None:
    facts = having(nvidia_host(2), host__cpu_list="32-63", pci__1__local_cpus="32-63")
    hidden = having(
        facts,
        nvidia__cuda__devices__0__address="0000:01:00.0",
        nvidia__cuda__devices__1__address="0000:01:00.0",
    )
    assert ask(far_cpus, hidden) == [("problem", FAR)]


LOCKS = "This process may lock only 8 MiB of memory (ulimit -l), too little for the RDMA network adapter."
JOB = {"SLURM_JOB_ID": "7"}


def rdma(gpus: int = 2, **changes: Any) -> Facts:
    """A machine with GPUs and an adapter with RDMA."""
    return having(nvidia_host(gpus), **({"host__rdma": True, "host__memlock": 8 << 20} | changes))


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (rdma(), ("problem", LOCKS)),
        (rdma(host__memlock=None), ("pass", "")),
        (rdma(host__memlock=8 << 30), ("pass", "")),
        (rdma(host__may_lock=True), ("pass", "")),
        (rdma(host__rdma=False), ("pass", "")),
        (rdma(host__rdma=WHY), ("unknown", "nobody looked")),
        (rdma(host__memlock=WHY), ("unknown", "nobody looked")),
        (rdma(host__may_lock=WHY), ("unknown", "nobody looked")),
        (rdma(1), ("pass", "")),
        (rdma(1, host__environment=JOB), ("problem", LOCKS)),
        (rdma(0, host__environment=JOB), ("pass", "")),
    ],
)
def test_memlock_small(facts: Facts, verdict: tuple[str, str]) -> None:
    assert ask(memlock_small, facts) == [verdict]


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        (rdma(2), Severity.ADVICE),
        (rdma(8), Severity.WARNING),
        (rdma(2, host__environment=JOB), Severity.WARNING),
        (rdma(2, host__kubernetes=True), Severity.WARNING),
    ],
)
def test_where_jobs_span_machines_the_limit_is_a_warning(facts: Facts, severity: Severity) -> None:
    assert [v.severity for v in run(memlock_small, facts)] == [severity]


def test_a_container_is_started_anew() -> None:
    (verdict,) = run(memlock_small, rdma(host__container="docker"))
    assert verdict.fixes[0].commands == ("docker run --ulimit memlock=-1 --ulimit stack=67108864 ...",)


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"host__platform": "grace", "host__numa_balancing": True}, "problem"),
        ({"host__platform": "grace", "host__numa_balancing": False}, "pass"),
        ({"host__platform": "grace", "host__numa_balancing": None}, "pass"),
        ({"host__platform": "grace", "host__numa_balancing": WHY}, "unknown"),
        ({"host__numa_balancing": True}, "pass"),
        ({"host__platform": "grace", "host__numa_balancing": True, "gpus": ()}, "pass"),
    ],
)
def test_numa_balancing(changes: dict[str, Any], outcome: str) -> None:
    assert [found for found, _ in ask(numa_balancing, having(nvidia_host(), **changes))] == [outcome]


@pytest.mark.parametrize(
    ("facts", "on", "outcome"),
    [
        (instinct_node(8), True, [Severity.WARNING]),
        (instinct_node(1, parts=8), True, [Severity.WARNING]),
        (instinct_node(1), True, []),  # nothing waits for another GPU
        (instinct_node(8), False, []),
        (instinct_node(8), None, []),
        (amd_host(), True, []),
    ],
)
def test_numa_balancing_slows_several_instinct_gpus(facts: Facts, on: bool | None, outcome: list[Severity]) -> None:
    found = run(numa_balancing, change(facts, "host.numa_balancing", on))
    assert [v.severity for v in found if v.outcome == "problem"] == outcome


MAPS = "A process may map only 16 GiB (ulimit -v); CUDA maps more than the GPU's 24 GiB."


@pytest.mark.parametrize(
    ("changes", "verdict", "severity"),
    [
        ({}, ("pass", ""), None),
        ({"host__address_space": 16 << 30}, ("problem", MAPS), Severity.WARNING),
        (
            {"host__address_space": 16 << 30, "nvidia__cuda__code": 2},
            ("problem", f"{MAPS} cuInit fails with out of memory."),
            Severity.ERROR,
        ),
        ({"host__address_space": 1 << 40}, ("pass", ""), None),
        ({"host__address_space": WHY}, ("unknown", "nobody looked"), None),
        ({"host__address_space": WHY, "gpus": ()}, ("pass", ""), None),
        ({"host__address_space": 16 << 30, "gpus__0__memory": None}, ("pass", ""), None),
    ],
)
def test_address_space_limit(changes: dict[str, Any], verdict: tuple[str, str], severity: Severity | None) -> None:
    facts = having(nvidia_host(), **changes)
    assert ask(address_space_limit, facts) == [verdict]
    assert [v.severity for v in run(address_space_limit, facts) if v.problem] == ([severity] if severity else [])
