"""Fans, clocks, power limits and persistence mode: settings that somebody left, and choices that are left alone."""

from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import run
from gpudoctor.facts import Facts, GpuProcess
from tests.builders import ask, nvidia_host, plain_host
from tests.checks.healthy_nvidia import A100, H100, LOAD, several
from tests.checks.nvidia_machines import WHY, having

NAME = "GPU 0 (NVIDIA GeForce RTX 4090)"
BIG = "GPU 0 (NVIDIA A100-SXM4-80GB)"
SOME = (GpuProcess(pid=7, name="python3"),)


def card(**changes: Any) -> Facts:
    """A machine with one RTX 4090."""
    return having(**{f"gpus__0__{name}": value for name, value in changes.items()})


def at_work(**changes: Any) -> Facts:
    """The same at work."""
    return card(**(LOAD | changes))


def server(count: int = 1, daemon: object = None, **changes: Any) -> Facts:
    """A machine with A100s."""
    return having(several(count, changes=A100 | changes), nvidia__kernel__persistence_daemon=daemon)


THERMAL = ("sw-thermal-slowdown",)
HOT: dict[str, Any] = {"temperature": 86, "fans": (0, 0)}
LAPTOP = {"host__platform": "laptop"}

ILL = [
    ("health.fans-stopped", card(**HOT), f"{NAME} is at 86 degrees C, and its fans are set to 0%."),
    (
        "health.clocks-held",
        server(application_clock=765),
        f"The application clock of {BIG} is set to 765 MHz; its default is 1275.",
    ),
    (
        "health.clocks-held",
        at_work(sm_clock=1200),
        f"{NAME} runs at 1200 of 3105 MHz under load without thermal or power throttling: its clocks are probably "
        "locked (nvidia-smi -lgc).",
    ),
    (
        "health.hardware-slowdown",
        at_work(event_reasons=("hw-slowdown",), sm_clock=400),
        f"HW slowdown throttles {NAME} to 400 of 3105 MHz under load; it is not heat.",
    ),
    (
        "health.power-limit-lowered",
        card(power_limit=200.0),
        f"The power limit of {NAME} is 200 W; its default is 450 W.",
    ),
    (
        "health.persistence-off",
        server(2, persistence=False),
        "Persistence mode is off on GPU 0, 1: the first program after idle waits until the driver has initialized "
        "the GPU.",
    ),
    (
        "health.overheated",
        server(temperature_memory=93, event_reasons=("sw-thermal-slowdown",)),
        f"The memory of {BIG} is hot at 93 degrees C (its limit is 95), so the GPU has lowered its clocks: "
        "sw-thermal-slowdown.",
    ),
    (
        "health.overheated",
        at_work(temperature=98, event_reasons=("hw-thermal-slowdown",)),
        f"{NAME} is hot at 98 degrees C (slowdown from 90) and has lowered its clocks: hw-thermal-slowdown. At 100 "
        "it shuts down.",
    ),
    (
        "health.overheated",
        server(temperature_memory=60, event_reasons=("sw-thermal-slowdown",)),
        f"{BIG} is hot at 40 degrees C (slowdown from 90) and has lowered its clocks: sw-thermal-slowdown.",
    ),
    (
        "health.overheated",
        at_work(temperature=90, event_reasons=("gpu-idle",)),
        f"{NAME} is at 90 degrees C: from 90 on it lowers its clocks.",
    ),
    (
        "health.overheated",
        at_work(temperature=89),
        f"{NAME} is at 89 degrees C, above its maximum operating temperature of 88.",
    ),
    (
        "health.overheated",
        server(temperature=85, temperature_operating_max=83, temperature_memory=92, event_reasons=THERMAL),
        f"{BIG} is hot at 85 degrees C (its maximum operating temperature is 83) and has lowered its clocks: "
        "sw-thermal-slowdown. Its memory is at 92 degrees C (its limit is 95).",
    ),
    (
        "health.overheated",
        server(temperature=83, temperature_operating_max=83, temperature_memory=96, event_reasons=THERMAL),
        f"The memory of {BIG} is hot at 96 degrees C (its limit is 95), so the GPU has lowered its clocks: "
        "sw-thermal-slowdown. The GPU itself is at 83 degrees C (its maximum operating temperature is 83).",
    ),
    (
        "health.overheated",
        server(temperature_memory=97),
        f"The memory of {BIG} is at 97 degrees C: its limit is 95.",
    ),
    (
        "health.overheated",
        server(temperature=89, temperature_memory=97),
        f"{BIG} is at 89 degrees C, above its maximum operating temperature of 88. Its memory is at 97 degrees C "
        "(its limit is 95).",
    ),
]

WELL = [
    ("health.fans-stopped", card(fans=(0, 0), temperature=55)),  # zero RPM, on purpose
    ("health.fans-stopped", card(fans=(0, 45), temperature=86)),
    ("health.fans-stopped", card(fans=None, temperature=86)),  # passive, or cooled by water
    ("health.fans-stopped", having(card(**HOT), **LAPTOP)),
    ("health.fans-stopped", card(temperature=None, fans=WHY)),
    ("health.fans-stopped", card(temperature=55, fans=WHY)),
    ("health.overheated", at_work(temperature=88)),  # at its maximum operating temperature, not above it
    ("health.overheated", at_work(temperature=89, temperature_operating_max=None)),
    ("health.overheated", at_work(temperature=89, temperature_operating_max=WHY)),
    ("health.overheated", server(temperature_memory=95)),
    ("health.clocks-held", at_work(sm_clock=1200, event_reasons=("sw-power-cap",))),
    ("health.clocks-held", at_work(sm_clock=1200, event_reasons=("hw-slowdown", "hw-power-brake"))),
    ("health.clocks-held", at_work(sm_clock=1200, utilization=40)),
    ("health.clocks-held", card(sm_clock=210)),  # at rest
    ("health.clocks-held", at_work(sm_clock=1200, integrated=True)),
    ("health.clocks-held", at_work(sm_clock=1200, virtualization="vgpu")),
    ("health.clocks-held", having(at_work(sm_clock=1200), **LAPTOP)),
    ("health.clocks-held", at_work(event_reasons=None)),
    ("health.hardware-slowdown", at_work(event_reasons=("hw-slowdown", "hw-power-brake"), sm_clock=400)),
    ("health.hardware-slowdown", at_work(event_reasons=("hw-slowdown", "hw-thermal-slowdown"), sm_clock=400)),
    ("health.hardware-slowdown", at_work(event_reasons=("hw-slowdown",), sm_clock=400, temperature=91)),
    ("health.hardware-slowdown", at_work(event_reasons=("hw-slowdown",), sm_clock=2500)),  # between two clocks
    ("health.hardware-slowdown", card(event_reasons=("hw-slowdown",))),  # at rest
    ("health.hardware-slowdown", at_work(event_reasons=None)),
    ("health.power-limit-lowered", card(power_limit=320.0)),  # an undervolter's choice
    ("health.power-limit-lowered", card(power_limit=None, power_default=None)),
    ("health.power-limit-lowered", having(card(power_limit=60.0), **LAPTOP)),
    ("health.power-limit-lowered", card(power_limit=200.0, virtualization="passthrough")),
    ("health.power-limit-lowered", card(power_limit=60.0, name="NVIDIA GeForce RTX 4060 Laptop GPU")),
    ("health.persistence-off", server(2)),
    ("health.persistence-off", server(2, "active", persistence=False)),
    ("health.persistence-off", server(1, persistence=False, processes=SOME)),  # what runs holds it
    ("health.persistence-off", server(1, WHY)),  # NVML says that it is on
    ("health.persistence-off", card(persistence=False)),  # a GeForce, with a desktop or without
    ("health.persistence-off", server(1, persistence=None)),
    ("health.persistence-off", server(1, persistence=False, virtualization="vgpu")),
    ("health.persistence-off", server(1, persistence=False, integrated=True)),
]

UNKNOWN = [
    ("health.fans-stopped", card(temperature=WHY)),
    ("health.fans-stopped", card(temperature=86, fans=WHY)),
    ("health.clocks-held", card(event_reasons=WHY)),
    ("health.clocks-held", at_work(sm_clock=WHY)),
    ("health.clocks-held", at_work(utilization=WHY)),
    ("health.hardware-slowdown", card(event_reasons=WHY)),
    ("health.hardware-slowdown", at_work(event_reasons=("hw-slowdown",), utilization=WHY)),
    ("health.hardware-slowdown", at_work(event_reasons=("hw-slowdown",), sm_clock=WHY)),
    ("health.power-limit-lowered", card(power_limit=WHY)),
    ("health.power-limit-lowered", card(power_default=WHY, power_limit=100.0)),
    ("health.persistence-off", server(1, WHY, persistence=False)),
]


@pytest.mark.parametrize(("check", "facts", "message"), ILL)
def test_the_problem_is_named(check: str, facts: Facts, message: str) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("problem", message)]


@pytest.mark.parametrize("check", sorted({check for check, _, _ in ILL}))
def test_a_healthy_machine_and_one_without_gpus_have_none(check: str) -> None:
    one = catalogue.load([check])[0]
    machines = (nvidia_host(2), several(1, changes=H100))
    assert {outcome for facts in machines for outcome, _ in ask(one, facts)} == {"pass"}
    assert ask(one, plain_host()) == [("skipped", "")]


@pytest.mark.parametrize(("check", "facts"), WELL)
def test_what_only_looks_like_it_is_left_alone(check: str, facts: Facts) -> None:
    assert {outcome for outcome, _ in ask(catalogue.load([check])[0], facts)} == {"pass"}


@pytest.mark.parametrize(("check", "facts"), UNKNOWN)
def test_what_nobody_could_see_is_unknown(check: str, facts: Facts) -> None:
    assert ask(catalogue.load([check])[0], facts) == [("unknown", "nobody could look")]


def test_the_installed_daemon_is_preferred_to_the_mode() -> None:
    one = catalogue.load(["health.persistence-off"])[0]
    [installed] = one.fixes_for(server(1, "inactive", persistence=False))
    [bare] = one.fixes_for(server(1, None, persistence=False))
    assert installed.commands == ("sudo systemctl enable --now nvidia-persistenced",)
    assert bare.commands == ("sudo nvidia-smi -pm 1",)


def test_a_laptop_wants_its_charger() -> None:
    one = catalogue.load(["health.hardware-slowdown"])[0]
    desktop = at_work(event_reasons=("hw-slowdown",), sm_clock=400)
    message = [run(one, facts)[0].fixes[0].message for facts in (desktop, having(desktop, **LAPTOP))]
    assert ["charger" in text for text in message] == [False, True]


def test_a_container_is_not_told_of_its_hosts_persistence() -> None:
    facts = having(server(1, persistence=False), host__container="docker")
    assert ask(catalogue.load(["health.persistence-off"])[0], facts) == [("skipped", "")]
