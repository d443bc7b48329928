"""Links and what slows a GPU down: judged at work, and left alone at rest."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Severity, run
from gpudoctor.facts import During, Facts, GpuProcess, SmokeRun, SmokeTest, User
from tests.builders import ask, nvidia_host, plain_host
from tests.checks.nvidia_machines import WHY, having

NAME = "GPU 0 (NVIDIA GeForce RTX 4090)"
AT_WORK: dict[str, Any] = {
    "gpus__0__utilization": 97,
    "gpus__0__performance_state": 0,
    "gpus__0__link_generation": 4,
    "gpus__0__sm_clock": 2700,
    "gpus__0__power": 420.0,
    "gpus__0__event_reasons": (),
}
SMALL = (GpuProcess(pid=42, name="python3", memory=23 << 30, state="S"),)
ROOTS = (GpuProcess(pid=42, name="VLLM::EngineCor", memory=23 << 30, state="S", user=0),)
OWN = (GpuProcess(pid=42, name="python3", memory=23 << 30, state="S", user=1000),)

# Three of a model at rest, the first of which has half of its lanes.
ALIKE = having(nvidia_host(3), gpus__0__link_width=8)
COPIED = SmokeRun(
    backend="pytorch",
    kind="cuda",
    gpu="0000:01:00.0",
    tests=(SmokeTest(name="transfer", during=During(link_width=16)),),
)
NOBODYS: dict[str, Any] = {"gpus__0__memory_used": 23 << 30, "host__user": User(uid=0)}


def working(**changes: Any) -> Facts:
    """The machine with its GPU at work."""
    return having(**(AT_WORK | changes))


def links(*gpus: tuple[bool, ...]) -> Facts:
    """A machine with one GPU for each list of NVLinks."""
    return having(nvidia_host(len(gpus)), **{f"gpus__{i}__nvlinks": up for i, up in enumerate(gpus)})


def rack(*gpus: tuple[bool, ...], **changes: Any) -> Facts:
    """Two GPUs or more of a rack whose NVLinks all lead to switches."""
    names = {f"gpus__{i}__name": "NVIDIA GB200" for i in range(len(gpus))}
    kinds = {f"gpus__{i}__capability": "10.0" for i in range(len(gpus))}
    fabric = {f"gpus__{i}__fabric_state": "completed" for i in range(len(gpus))}
    return having(links(*gpus), **names, **kinds, **fabric, **changes)


CAPPED: dict[str, Any] = {
    "gpus__0__event_reasons": ("sw-power-cap",),
    "gpus__0__sm_clock": 1500,
    "gpus__0__power": 238.0,
}

ILL = [
    (
        "link.narrow-pcie",
        working(gpus__0__link_width=1),
        f"The PCIe link of {NAME} has a width of x1 of x16 lanes under load.",
    ),
    (
        "link.narrow-pcie",
        ALIKE,
        f"The PCIe link of {NAME} has a width of x8 of x16 lanes at idle; check again under load. The 2 others of its "
        "model are idle as well and have x16.",
    ),
    (
        "link.slow-pcie",
        working(gpus__0__link_generation=1),
        f"The PCIe link of {NAME} stays at generation 1 of 4 under load (2.5 of 16 GT/s).",
    ),
    (
        "link.nvlink-down",
        links((True, True), (True, False)),
        "GPU 1 (NVIDIA GeForce RTX 4090) has 1 of 2 NVLinks up, an identical GPU here has 2.",
    ),
    (
        "link.nvlink-down",
        rack((True, False), (True, False), gpus__1__mig=True),
        "GPU 0 (NVIDIA GB200) has 1 of 2 NVLinks up, no GPU here has more.",
    ),
    (
        "health.power-capped",
        working(**CAPPED),
        f"The power cap throttles {NAME}: it runs at 1500 of 3105 MHz under load at 238 W of a limit of 450 W.",
    ),
    (
        "health.overheated",
        working(gpus__0__event_reasons=("hw-slowdown", "hw-thermal-slowdown"), gpus__0__temperature=96),
        f"{NAME} is hot at 96 degrees C (slowdown from 90) and has lowered its clocks: hw-thermal-slowdown.",
    ),
    (
        "health.overheated",
        having(gpus__0__event_reasons=WHY, gpus__0__temperature=101),
        f"{NAME} is at 101 degrees C, and shuts down at 100.",
    ),
    (
        "health.power-brake",
        working(gpus__0__event_reasons=("hw-slowdown", "hw-power-brake"), gpus__0__sm_clock=345),
        f"{NAME} is throttled to 345 of 3105 MHz because the power supply asserts the power brake (hw-power-brake).",
    ),
    (
        "health.memory-held",
        having(gpus__0__memory_used=23 << 30, gpus__0__processes=SMALL),
        f"23552 of 24576 MiB of {NAME} are in use: python3 (pid 42) 23552 MiB.",
    ),
    (
        "health.memory-held",
        having(gpus__0__memory_used=23 << 30),
        f"23552 of 24576 MiB of {NAME} are in use: NVML shows no process here that uses it (one of another "
        "container or user, or one that has ended badly).",
    ),
    (
        "health.memory-held",
        having(**NOBODYS),
        f"23552 of 24576 MiB of {NAME} are in use, and no process is listed that uses this GPU.",
    ),
    (
        "health.memory-held",
        having(
            gpus__0__memory_used=23 << 30,
            gpus__0__utilization=100,
            gpus__0__processes=(GpuProcess(pid=31337, name=None, memory=23 << 30),),
        ),
        f"23552 of 24576 MiB of {NAME} are in use: a process that is not visible here (pid 31337) 23552 MiB.",
    ),
    (
        "health.stuck-process",
        having(gpus__0__processes=(GpuProcess(pid=42, name="python3", state="D"),)),
        f"Process 42 (python3) on {NAME} is in uninterruptible sleep in the kernel (state D) and keeps its memory.",
    ),
]

WELL = [
    ("link.narrow-pcie", having(gpus__0__link_width=8)),  # at rest
    ("link.narrow-pcie", having(nvidia_host(2), gpus__0__link_width=8)),  # and one other
    ("link.narrow-pcie", having(ALIKE, gpus__1__link_width=8)),  # so it may be the driver's saving
    ("link.narrow-pcie", having(ALIKE, gpus__1__performance_state=2)),  # what the other one does shows nothing
    ("link.narrow-pcie", having(ALIKE, gpus__2__link_generation=4)),
    ("link.narrow-pcie", having(ALIKE, gpus__2__name="NVIDIA L4")),
    ("link.narrow-pcie", having(ALIKE, host__platform="laptop")),
    ("link.narrow-pcie", having(ALIKE, host__virtual="kvm")),
    ("link.narrow-pcie", having(ALIKE, pci__0__link_width_max=8)),  # the slot has no more
    ("link.narrow-pcie", having(ALIKE, smoke__runs=(COPIED,))),  # seen under load: smoke.link-trained-down judges
    ("link.narrow-pcie", working(gpus__0__link_width=8, gpus__0__link_width_max=8)),  # a card of eight lanes
    ("link.narrow-pcie", working(gpus__0__link_width=None)),
    ("link.slow-pcie", having(gpus__0__link_generation=1)),  # at rest
    ("link.nvlink-down", links((False, False))),  # no bridge is fitted
    ("link.nvlink-down", links((False, False), (False, False))),
    ("link.nvlink-down", rack((False, False))),  # one GPU needs none
    ("link.nvlink-down", rack(*[(True,) * 18 + (False,) * 6] * 2)),  # NVML counts more than there are
    ("link.nvlink-down", rack((False, False), (False, False), host__virtual="kvm")),  # its host shares the switches
    (
        "link.nvlink-down",
        rack((False, False), (False, False), nvidia__kernel__parameters={"NvLinkDisable": "1"}),
    ),
    # A card's bridges join some of its links; the mode of the fabric is not its own.
    (
        "link.nvlink-down",
        having(rack((True, False), (True, False)), gpus__0__name="NVIDIA H100 PCIe", gpus__1__name="NVIDIA H100 PCIe"),
    ),
    ("health.power-capped", working(gpus__0__event_reasons=("sw-power-cap",), gpus__0__sm_clock=2400)),
    ("health.power-capped", working(gpus__0__event_reasons=(), gpus__0__sm_clock=1500)),
    # At its default limit a GPU does what it was built for.
    ("health.power-capped", working(**(CAPPED | {"gpus__0__sm_clock": 1100, "gpus__0__power": 447.0}))),
    # The slot has four lanes of the third generation, says the kernel; NVML tells what the card could do.
    ("link.narrow-pcie", working(gpus__0__link_width=4, pci__0__link_width_max=4)),
    ("link.slow-pcie", working(gpus__0__link_generation=2, pci__0__link_generation_max=2)),
    ("link.narrow-pcie", working(gpus__0__link_width=1, host__platform="dgx-spark")),
    ("link.slow-pcie", working(gpus__0__link_generation=1, gpus__0__integrated=True)),
    ("health.overheated", working(gpus__0__event_reasons=("hw-slowdown",), gpus__0__temperature=60)),
    ("health.memory-held", having(gpus__0__memory=None, gpus__0__memory_used=None)),
    ("health.stuck-process", having(gpus__0__processes=SMALL)),
]

UNKNOWN = [
    ("link.narrow-pcie", having(gpus__0__link_width=WHY)),
    ("link.narrow-pcie", working(gpus__0__link_width=4, gpus__0__utilization=WHY)),
    ("link.slow-pcie", having(gpus__0__link_generation_max=WHY)),
    ("link.nvlink-down", having(gpus__0__nvlinks=WHY)),
    ("health.power-capped", having(gpus__0__event_reasons=WHY)),
    ("health.power-capped", working(**(CAPPED | {"gpus__0__sm_clock": WHY}))),
    ("health.overheated", having(gpus__0__event_reasons=WHY)),
    ("health.power-brake", having(gpus__0__event_reasons=WHY)),
    ("health.memory-held", having(gpus__0__memory_used=WHY)),
    ("health.stuck-process", having(gpus__0__processes=WHY)),
]


@pytest.mark.parametrize(("check", "facts", "message"), ILL)
def test_the_problem_is_named(check: str, facts: Facts, message: str) -> None:
    answers = ask(catalogue.load([check])[0], facts)
    assert [answer for answer in answers if answer[0] != "pass"] == [("problem", message)]


@pytest.mark.parametrize("check", sorted({check for check, _, _ in ILL}))
def test_a_healthy_machine_and_one_without_gpus_have_none(check: str) -> None:
    one = catalogue.load([check])[0]
    assert {outcome for outcome, _ in ask(one, nvidia_host(2))} == {"pass"}
    assert ask(one, plain_host()) == [("skipped", "")]


@pytest.mark.parametrize(("check", "facts"), WELL)
def test_what_only_looks_like_it_is_left_alone(check: str, facts: Facts) -> None:
    assert {outcome for outcome, _ in ask(catalogue.load([check])[0], facts)} == {"pass"}


@pytest.mark.parametrize(("check", "facts"), UNKNOWN)
def test_what_nobody_could_see_is_unknown(check: str, facts: Facts) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("unknown", "nobody could look")]


@pytest.mark.parametrize(
    ("check", "facts", "severity"),
    [
        ("link.narrow-pcie", working(gpus__0__link_width=4), Severity.WARNING),
        ("link.narrow-pcie", working(gpus__0__link_width=8), Severity.ADVICE),  # half of them
        ("link.narrow-pcie", having(gpus__0__link_width=1), Severity.ADVICE),  # at rest
        ("link.narrow-pcie", ALIKE, Severity.ADVICE),
        ("link.narrow-pcie", working(gpus__0__link_width=4, host__virtual="kvm"), Severity.ADVICE),
        ("link.slow-pcie", working(gpus__0__link_generation=3), Severity.ADVICE),
        (
            "health.power-capped",
            working(**(CAPPED | {"gpus__0__power": 248.0, "gpus__0__power_limit": 250.0})),
            Severity.ADVICE,
        ),
        ("health.power-capped", having(working(**CAPPED), host__platform="laptop"), Severity.ADVICE),
        ("health.power-capped", working(**CAPPED), Severity.WARNING),
        (
            "health.memory-held",
            having(gpus__0__memory_used=23 << 30, gpus__0__utilization=90, gpus__0__processes=SMALL),
            Severity.ADVICE,
        ),
        (
            "health.memory-held",
            having(gpus__0__memory_used=23 << 30, gpus__0__processes=OWN, host__user=User(uid=1000)),
            Severity.ADVICE,
        ),
        ("health.memory-held", having(gpus__0__memory_used=23 << 30, gpus__0__processes=SMALL), Severity.WARNING),
        (
            "health.memory-held",  # root owns no work of its own
            having(gpus__0__memory_used=23 << 30, gpus__0__processes=ROOTS, host__user=User(uid=0)),
            Severity.WARNING,
        ),
        ("health.memory-held", having(nvidia_host(2), gpus__0__memory_used=23 << 30), Severity.ADVICE),
        ("health.memory-held", having(nvidia_host(2), **NOBODYS), Severity.WARNING),  # no other GPU gives it back
    ],
)
def test_how_bad_it_is_depends_on_what_is_sure(check: str, facts: Facts, severity: Severity) -> None:
    assert [verdict.severity for verdict in run(catalogue.load([check])[0], facts) if verdict.problem] == [severity]


def test_memory_that_nobody_has_is_freed_by_a_reset() -> None:
    [verdict] = run(catalogue.load(["health.memory-held"])[0], having(**NOBODYS))
    assert [fix.commands for fix in verdict.fixes] == [
        (
            "sudo fuser -v /dev/nvidia*",
            "sudo rmmod nvidia_drm",
            "sudo nvidia-smi --gpu-reset -i 0",
            "sudo modprobe nvidia_drm",
        ),
        ("sudo reboot",),
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"host__user": User(uid=1000)},
        {"host__user": User()},
        {"host__container": "docker"},
        {"host__container": WHY},
        {"host__wsl": 2},
        {"gpus__0__virtualization": "host-vgpu"},
        {"gpus__0__virtualization": "vgpu"},
        {"gpus__0__virtualization": WHY},
        {"gpus__0__mig": True},
        {"gpus__0__utilization": 40},
        {"gpus__0__processes": WHY},
    ],
)
def test_where_somebody_may_not_be_visible_nothing_is_reset(other: dict[str, Any]) -> None:
    [verdict] = run(catalogue.load(["health.memory-held"])[0], having(**(NOBODYS | other)))
    assert not any("reset" in command for fix in verdict.fixes for command in fix.commands)
