"""Machines with AMD's GPUs that are well, each odd in its own way: nothing there fails and nothing is warned of."""

from typing import Any

import msgspec
import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Outcome, judge
from gpudoctor.facts import AmdRepository, Facts, LogEvent
from gpudoctor.maybe import Unknown, known_or
from gpudoctor.report.build import build
from tests.builders import framework, live, plain_host, python
from tests.checks.amd_machines import IGPU, RADEON, amd_host, instinct_node, render
from tests.checks.healthy_nvidia import SHM
from tests.checks.nvidia_machines import having

CHECKS = catalogue.load()
ASLEEP = Unknown("not read: the GPU sleeps, and reading would wake it")
HIDDEN = Unknown("not shown to a virtual function")
RYZEN = msgspec.structs.replace(
    RADEON, name="AMD Radeon 8060S", gfx="gfx1151", integrated=True, memory=512 << 20, memory_used=300 << 20
)
SECOND = msgspec.structs.replace(RADEON, index=1, address="0000:02:00.0")


def node(parts: int = 1, **changes: Any) -> Facts:
    """Eight MI300X cards at rest."""
    return having(instinct_node(8, parts), host__shm=SHM, **changes)


def container() -> Facts:
    """Docker with two GPUs of eight: sysfs shows all cards, KFD those that were given."""
    facts = node()
    two = tuple(render(path=f"/dev/dri/renderD{n}", minor=n) for n in (128, 136))
    return having(
        facts,
        gpus=known_or(facts.gpus, ())[:2],
        amd__render=two,
        host__container="docker",
        pythons__0__frameworks__0__live=live(2),
    )


def guest() -> Facts:
    """A virtual machine with a virtual function of an MI210: no hive, no clocks, no RAS of its own."""
    gpu = msgspec.structs.replace(RADEON, name="AMD Instinct MI210 VF", gfx="gfx90a", memory=64 << 30)
    facts = amd_host((gpu,), ("gfx90a", "gfx942"))
    reported = tuple(
        msgspec.structs.replace(board, performance_level=HIDDEN, pages_retired=HIDDEN, pages_pending=HIDDEN)
        for board in known_or(facts.amd.boards, ())
    )
    return having(facts, amd__boards=reported, host__virtual="kvm", host__platform="vm", pci__0__iommu=None)


def windows() -> Facts:
    """WSL 2 with a Radeon RX 7900 XTX in Windows: no PCI device, no /dev/kfd, and PyTorch computes."""
    torch = framework(
        "torch", "2.9.0+rocm7.2", cuda=None, hip="7.2.1", variant="rocm", archs=("gfx1100",), live=live(1)
    )
    facts = plain_host(pythons=(python(torch),))
    return having(
        facts,
        host__wsl=2,
        host__platform="wsl",
        host__shm=SHM,
        host__environment={"HSA_ENABLE_DXG_DETECTION": "1"},
        amd=having(amd_host((), loaded=False, kfd=(), render=(), topology=False), amd__dxg=True).amd,
    )


def asleep() -> Facts:
    """A laptop whose Radeon sleeps beside the processor's graphics."""
    facts = amd_host((RADEON, IGPU))
    reported = tuple(
        msgspec.structs.replace(board, performance_level=ASLEEP) for board in known_or(facts.amd.boards, ())
    )
    return having(
        facts, amd__boards=reported, host__platform="laptop", host__shm=SHM, pci__0__runtime_status="suspended"
    )


def line(kind: str, text: str, **what: str) -> LogEvent:
    """A line of the log about the first card."""
    return LogEvent(kind=kind, text=text, gpu="0000:01:00.0", what={"text": text} | what)


MACHINES = {
    "a workstation beside an integrated GPU": having(amd_host((RADEON, IGPU)), host__shm=SHM),
    "two Radeon cards behind an IOMMU": having(amd_host((RADEON, SECOND)), host__shm=SHM),
    "a Radeon that sleeps": asleep(),
    "MI300X in the mode SPX": node(),
    "MI300X in the mode CPX": node(8),
    "MI300X with some pages retired": having(node(), amd__boards__3__pages_retired=5),
    "a Slurm job with one partition of 64": having(
        node(8), gpus=known_or(node(8).gpus, ())[:1], amd__closed_nodes=63, host__environment={"SLURM_JOB_ID": "1"}
    ),
    "a container with two of eight": container(),
    "a guest with a virtual function": guest(),
    "WSL 2 with a Radeon": windows(),
    "a laptop with Ryzen AI Max": having(
        amd_host((RYZEN,), ("gfx1100", "gfx1151")), host__platform="laptop", host__shm=SHM
    ),
    "AMD's own driver of the wheel's release": having(
        amd_host(version="6.10.5", packages=(("amdgpu-dkms", "1:6.10.5.60304-2125197.24.04", "ii"),)), host__shm=SHM
    ),
    "AMD's repository of this release": having(
        amd_host(
            repositories=(AmdRepository(path="/r", address="https://repo.radeon.com/rocm/apt/7.2", suite="noble"),)
        ),
        host__shm=SHM,
    ),
    "sudo by a user who may compute": having(amd_host(opens_for_caller=True), host__shm=SHM),
    "firmware that is not needed is missing": having(
        amd_host(),
        host__shm=SHM,
        log__events=(line("amdgpu-firmware", "Direct firmware load for amdgpu/isp_4_1_1.bin failed with error -2"),),
    ),
    "a film that hung": having(amd_host(), host__shm=SHM, log__events=(line("amdgpu-ring-timeout", "vcn_unified_0"),)),
    "a card for a virtual machine": having(
        amd_host((RADEON, SECOND)), host__shm=SHM, gpus=(RADEON,), pci__1__driver="vfio-pci"
    ),
    "a performance level for benchmarks": having(
        amd_host(), host__shm=SHM, amd__boards__0__performance_level="profile_standard"
    ),
}


@pytest.mark.parametrize("facts", MACHINES.values(), ids=MACHINES.keys())
def test_a_healthy_machine_gives_no_fail_and_no_warning(facts: Facts) -> None:
    verdicts = list(judge(facts, CHECKS))
    report = build(facts, verdicts)
    assert [(f.check, f.message) for f in report.findings if f.status != "advice"] == []
    assert [(v.check.id, v.message) for v in verdicts if v.outcome is Outcome.BROKEN] == []
    assert report.status == "pass"


def test_they_give_no_advice_about_amd_either() -> None:
    loud = {
        name: [v.check.id for v in judge(facts, CHECKS) if v.outcome is Outcome.PROBLEM and v.check.area == "rocm"]
        for name, facts in MACHINES.items()
    }
    assert {name: ids for name, ids in loud.items() if ids} == {}
