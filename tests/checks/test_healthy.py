"""Machines that are well, of every kind: whatever is odd about them, nothing there fails and nothing is warned of."""

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Outcome, judge
from gpudoctor.facts import Facts, GpuProcess, Thunderbolt
from gpudoctor.queries.gpu_requests import without_gpu
from gpudoctor.report.build import build
from tests.builders import host, nvidia_host
from tests.checks import healthy_nvidia as nv
from tests.checks.healthy_software import OTHERS
from tests.checks.nvidia_machines import having

CHECKS = catalogue.load()
TRAINING = GpuProcess(pid=4242, memory=23 << 30, name="python3", user=1000, state="R")
FULL = nv.LOAD | {"memory_used": 23 << 30, "processes": (TRAINING,)}
KEPLER = {
    "device": "0ffe",
    "chip": "GK107",
    "generation": "Kepler",
    "capability": "3.0",
    "name": "GK107GL [Quadro K2000]",
}

NVIDIA = {
    "a laptop, its GPU asleep": nv.laptop(asleep=True),
    "a laptop, its GPU awake": nv.laptop(asleep=False),
    "a card of eight lanes": nv.several(1, changes=nv.LOAD | {"link_width": 8, "link_width_max": 8}),
    "a slot of four lanes, though the card has sixteen": nv.several(
        1, changes=nv.LOAD | {"link_width": 4, "link_width_max": 16}, link_width_max=4, link_width=4
    ),
    "an eGPU, whose Thunderbolt port calls itself x4 of the first generation": nv.several(
        1,
        changes=nv.LOAD | {"link_width": 4, "link_width_max": 16, "link_generation": 1},
        link_width_max=4,
        link_width=4,
        link_generation=1,
        link_generation_max=1,
    ),
    "HGX A100": nv.hgx(nv.A100, 6),
    "HGX A100 at work": nv.hgx(nv.A100, 6, **(nv.LOAD | {"sm_clock": 1200, "power": 395.0})),
    "HGX H100": nv.hgx(nv.H100, 4),
    "HGX B200": nv.hgx(nv.B200),
    "an A100 on PCIe without a bridge": nv.several(1, changes=nv.A100 | {"nvlinks": (False,) * 12}),
    "one GPU of two in MIG mode": nv.mig(),
    "a licensed vGPU": nv.vgpu(),
    "WSL 2": nv.wsl(),
    "Docker with one GPU of four": nv.shared("docker"),
    "Podman by CDI": nv.shared("podman", host__environment={"NVIDIA_VISIBLE_DEVICES": "void"}),
    "a Kubernetes pod": nv.shared(
        "kubernetes", host__kubernetes=True, host__environment={"NVIDIA_VISIBLE_DEVICES": "GPU-1"}
    ),
    "LXC": nv.shared("lxc", host__environment={}),
    "Apptainer with modules": nv.shared(
        "apptainer",
        host__environment={"LD_LIBRARY_PATH": "/.singularity.d/libs:/opt/apps/cuda/12.4/lib64", "SLURM_JOB_ID": "1"},
    ),
    "a Slurm job": nv.slurm(),
    "a mask that leaves one of four": having(
        nv.several(4, 1),
        host__environment={"CUDA_VISIBLE_DEVICES": "3"},
        nvidia__cuda__unmasked_code=0,
    ),
    "Grace Hopper": nv.superchip(),
    "DGX Spark": nv.spark(),
    "Jetson Orin": nv.jetson(),
    "Jetson Orin with JetPack 5": nv.old_jetson(),
    "a virtual machine with whole cards": nv.passthrough(),
    "two workstation cards behind an IOMMU in passthrough": nv.several(
        2, changes={"name": "NVIDIA RTX 6000 Ada Generation"}, iommu="identity", acs=False
    ),
    "a laptop on a Thunderbolt dock": having(
        nv.laptop(asleep=True), host__thunderbolt=(Thunderbolt(place="0-1", name="Dock", authorized=False),)
    ),
    "two generations": nv.two_generations(),
    "a card for a virtual machine": nv.beside("vfio-pci"),
    "a display card that nouveau drives": nv.beside("nouveau", **KEPLER),
    "an RTX 4090 at its power limit": nv.working(event_reasons=("sw-power-cap",), sm_clock=1900, power=448.0),
    "a T4 at its power limit, near its base clock": nv.several(
        1,
        changes=nv.LOAD
        | {
            "name": "Tesla T4",
            "chip": "TU104",
            "generation": "Turing",
            "capability": "7.5",
            "event_reasons": ("sw-power-cap",),
            "sm_clock": 705,
            "sm_clock_max": 1590,
            "power": 69.6,
            "power_limit": 70.0,
            "power_default": 70.0,
            "link_generation": 3,
            "link_generation_max": 3,
        },
        device="1eb8",
    ),
    "a card whose owner lowered its limit": nv.working(
        event_reasons=("sw-power-cap",), sm_clock=1600, power=219.0, power_limit=220.0
    ),
    "a laptop on battery": having(
        nv.laptop(asleep=False),
        gpus__0__utilization=95,
        gpus__0__performance_state=3,
        gpus__0__event_reasons=("sw-power-cap",),
        gpus__0__sm_clock=900,
        gpus__0__power=25.0,
        gpus__0__power_limit=80.0,
    ),
    "hot and below its slowdown": nv.working(temperature=86, event_reasons=("sw-power-cap",)),
    "its memory full with a job that computes": nv.several(1, changes=FULL),
    "its memory full with one's own program that waits": nv.several(1, changes=FULL | {"utilization": 0}),
    "ECC that corrected": nv.several(1, changes=nv.A100 | {"ecc_uncorrected_total": 3, "remapped_uncorrected": 2}),
    "programs with bugs": nv.faults(),
    "a small /dev/shm without PyTorch": having(nvidia_host(), host=host(container="docker", shm=nv.TINY)),
}

MACHINES = NVIDIA | OTHERS


@pytest.mark.parametrize("facts", MACHINES.values(), ids=MACHINES.keys())
def test_a_healthy_machine_gives_no_fail_and_no_warning(facts: Facts) -> None:
    verdicts = list(judge(facts, CHECKS))
    report = build(facts, verdicts)
    assert [(f.check, f.message) for f in report.findings if f.status != "advice"] == []
    assert [(v.check.id, v.message) for v in verdicts if v.outcome is Outcome.BROKEN] == []
    assert report.status == ("no-gpu" if without_gpu(facts) else "pass")


def test_no_two_machines_have_one_name() -> None:
    assert not set(NVIDIA) & set(OTHERS)
