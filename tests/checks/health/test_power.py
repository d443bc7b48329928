"""GPUs under load that a power limit, a power reading or a missing Dynamic Boost holds down."""

from typing import Any

import pytest

from gpudoctor.check_engine import Severity, run
from gpudoctor.checks.health.overheated import overheated
from gpudoctor.checks.health.power_capped import power_capped
from gpudoctor.facts import Distribution, Facts, ServiceLine
from gpudoctor.maybe import Unknown
from tests.builders import ask
from tests.checks import healthy_nvidia as nv
from tests.checks.nvidia_machines import WHY, having

NAME = "GPU 0 (NVIDIA GeForce RTX 4070 Laptop GPU)"
UNIT, POLICY = (
    f"/usr/share/doc/nvidia-kernel-common-595/{name}" for name in ("nvidia-powerd.service", "nvidia-dbus.conf")
)
HELD: dict[str, Any] = {
    "name": "NVIDIA GeForce RTX 4070 Laptop GPU",
    "capability": "8.9",
    "utilization": 98,
    "performance_state": 0,
    "temperature": 58,
    "sm_clock": 1140,
    "sm_clock_max": 3105,
    "power": 54.9,
    "power_limit": 55.0,
    "power_default": 55.0,
    "power_max": 140.0,
    "event_reasons": ("sw-power-cap",),
}
ERROR = "ERROR! Client (presumably SBIOS) has requested to disable Dynamic Boost DC controller"
LINE = ServiceLine(service="nvidia-powerd.service", symptom="powerd-refused", text=ERROR)
FALLBACK: dict[str, Any] = {"power_default": 115.0, "power_max": 130.0, "performance_state": 3}
FROZEN: dict[str, Any] = {
    "power": 588.4,
    "power_limit": 35.0,
    "power_default": 45.0,
    "power_max": 60.0,
    "sm_clock": 210,
    "temperature": 48,
    "event_reasons": ("sw-power-cap", "sw-thermal-slowdown"),
}


def laptop(machine: dict[str, Any] | None = None, **changes: Any) -> Facts:
    """A laptop on its charger whose GPU is under load at its base power, without nvidia-powerd."""
    own = {"host__mains": True, "host__power_profile": "performance", "host__platform": "laptop"}
    daemon = {"nvidia__kernel__power_daemon": "inactive", "services__lines": ()}
    gpu = {f"gpus__0__{name}": value for name, value in (HELD | changes).items()}
    return having(nv.laptop(asleep=False), **(own | daemon | gpu | (machine or {})))


def test_a_laptop_without_powerd_stays_at_its_base_power() -> None:
    message = (
        f"{NAME} is held at its base power of 55 W of at most 140 W and runs at 1140 of 3105 MHz under load: "
        "nvidia-powerd (Dynamic Boost) is not running."
    )
    assert ask(power_capped, laptop()) == [("problem", message)]
    (verdict,) = run(power_capped, laptop())
    assert verdict.severity is Severity.WARNING
    assert verdict.fixes[0].commands == ("sudo systemctl enable --now nvidia-powerd.service",)


@pytest.mark.parametrize(
    "facts",
    [
        laptop({"host__mains": False}),
        laptop({"host__mains": None}),
        laptop({"host__mains": None, "nvidia__kernel__dynamic_boost": False}),
        laptop({"host__mains": WHY, "nvidia__kernel__dynamic_boost": True}),
        laptop({"host__mains": False, "nvidia__kernel__dynamic_boost": True}),
        laptop({"host__mains": WHY}),
        laptop({"host__power_profile": "quiet"}),
        laptop({"host__power_profile": "low-power"}),
        laptop({"nvidia__kernel__power_daemon": "active"}),
        laptop({"nvidia__kernel__power_daemon": "unsupported"}),
        laptop({"nvidia__kernel__power_daemon": WHY}),
        laptop(utilization=40),
        laptop(performance_state=5),
        laptop(event_reasons=("gpu-idle",)),
        laptop(power_max=60.0),  # at 55 W there is nothing to gain
        laptop(power_limit=80.0, power=79.0),  # raised
        laptop(sm_clock=2400),
        laptop(capability="7.5"),  # Turing has no Dynamic Boost
        laptop(power_default=WHY),
        laptop({"host__platform": "bare"}, name="NVIDIA GeForce RTX 4070"),
    ],
)
def test_a_laptop_that_is_meant_to_be_slow_or_that_nobody_knows(facts: Facts) -> None:
    assert {outcome for outcome, _ in ask(power_capped, facts)} == {"pass"}


def test_a_notebook_without_a_battery_is_on_mains() -> None:
    own = {"host__mains": None, "nvidia__kernel__dynamic_boost": True}
    assert [outcome for outcome, _ in ask(power_capped, laptop(own))] == ["problem"]


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"power_max": WHY}, Severity.WARNING),
        ({"power_max": WHY, "sm_clock": 1600}, Severity.ADVICE),  # half its clock, and nobody knows the maximum
        ({"sm_clock": 1600}, Severity.WARNING),
    ],
)
def test_how_bad_it_is(changes: dict[str, Any], severity: Severity) -> None:
    assert [verdict.severity for verdict in run(power_capped, laptop(**changes))] == [severity]


@pytest.mark.parametrize(
    ("changes", "commands"),
    [
        (
            {"nvidia__kernel__power_daemon": "no-unit", "nvidia__kernel__power_daemon_files": (UNIT, POLICY)},
            (
                f"sudo cp {UNIT} /etc/systemd/system/nvidia-powerd.service",
                f"sudo cp {POLICY} /etc/dbus-1/system.d/nvidia-dbus.conf",
                "sudo systemctl daemon-reload",
                "sudo systemctl reload dbus",
                "sudo systemctl enable --now nvidia-powerd.service",
            ),
        ),
        ({"nvidia__kernel__power_daemon": "no-unit"}, ()),  # it ships no unit that could be copied
        ({"nvidia__kernel__power_daemon": None}, ()),
    ],
)
def test_what_starts_powerd(changes: dict[str, Any], commands: tuple[str, ...]) -> None:
    (verdict,) = run(power_capped, laptop(changes))
    assert verdict.fixes[0].commands == commands


def test_a_missing_bus_policy_is_written() -> None:
    own = {"nvidia__kernel__power_daemon": "no-unit", "nvidia__kernel__power_daemon_files": (UNIT,)}
    commands = run(power_capped, laptop(own))[0].fixes[0].commands
    assert 'allow own="nvidia.powerd.server"' in commands[1]
    assert "/etc/dbus-1/system.d/nvidia-dbus.conf" in commands[1]


@pytest.mark.parametrize(
    ("distribution", "first"),
    [
        (Distribution(id="debian", version="13", codename="trixie", name="Debian 13"), "apt-get install nvidia-powerd"),
        (Distribution(id="nixos", version="26.05", codename=None, name="NixOS"), "hardware.nvidia.dynamicBoost.enable"),
    ],
)
def test_where_powerd_is_another_package(distribution: Distribution, first: str) -> None:
    facts = laptop({"nvidia__kernel__power_daemon": None, "host__distribution": distribution})
    assert first in "\n".join(run(power_capped, facts)[0].fixes[0].commands)


def test_powerd_that_the_firmware_refuses_holds_the_limit() -> None:
    own = {"nvidia__kernel__power_daemon": "active", "services__lines": (LINE,)}
    (verdict,) = run(power_capped, laptop(own, **FALLBACK))
    assert verdict.message == (
        f"{NAME} is held at a power limit of 55 W (default 115 W) and runs at 1140 of 3105 MHz under load; "
        "nvidia-powerd reports errors."
    )
    assert verdict.problem is not None
    assert verdict.problem.evidence == (ERROR,)
    assert verdict.fixes[0].commands == ("sudo systemctl disable --now nvidia-powerd.service",)
    # The same line is in the journal of laptops that have their full power.
    assert ask(power_capped, laptop(own)) == [("pass", "")]


@pytest.mark.parametrize(
    "own",
    [
        {"nvidia__kernel__power_daemon": "inactive", "services__lines": (LINE,)},
        {"nvidia__kernel__power_daemon": "active", "services__lines": ()},
        {"nvidia__kernel__power_daemon": "active", "services__lines": WHY},
    ],
)
def test_a_lowered_limit_without_that_is_advice(own: dict[str, Any]) -> None:
    (verdict,) = run(power_capped, laptop(own, **FALLBACK))
    assert (verdict.severity, "nvidia-powerd" in verdict.message) == (Severity.ADVICE, False)
    assert verdict.problem
    unread = "Whether nvidia-powerd reports that the firmware refuses Dynamic Boost is unknown: "
    assert verdict.problem.evidence == ((f"{unread}{WHY.unknown}",) if own["services__lines"] is WHY else ())


def test_a_laptop_has_a_charger_and_no_server_management() -> None:
    fix = run(power_capped, laptop({"nvidia__kernel__power_daemon": "active", "services__lines": ()}, **FALLBACK))[
        0
    ].fixes
    assert ("charger" in fix[-1].message, "BMC" in fix[-1].message) == (True, False)


def test_an_impossible_reading_is_named() -> None:
    facts = laptop({"nvidia__kernel__loaded": "610.43.03"}, **FROZEN)
    message = (
        f"An impossible power reading throttles {NAME} to 210 of 3105 MHz under load: 588 W of a limit of 35 W. Driver "
        "610.43.03 is known for that: on some laptops it reads a power that never changes and is above every limit "
        "(https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1237)."
    )
    assert ask(power_capped, facts) == [("problem", message)]
    assert ask(overheated, facts) == [("pass", "")]  # at 48 degrees: the same reading
    hot = having(facts, gpus__0__temperature=95, gpus__0__temperature_slowdown=90)
    assert [outcome for outcome, _ in ask(overheated, hot)] == ["problem"]


def test_another_driver_with_an_impossible_reading_is_known_for_nothing() -> None:
    for release in ("595.71.05", Unknown("nobody looked")):
        (verdict,) = run(power_capped, laptop({"nvidia__kernel__loaded": release}, **FROZEN))
        assert verdict.message.endswith("588 W of a limit of 35 W.")
        assert verdict.severity is Severity.WARNING


def test_an_image_goes_back_as_a_whole() -> None:
    fedora = Distribution(id="fedora", like=(), version="44", codename=None, name="Fedora Linux 44 (Silverblue)")
    own = {"host__distribution": fedora, "nvidia__kernel__image_keys": ()}
    back, newer = run(power_capped, laptop(own, **FROZEN))[0].fixes
    assert "sudo rpm-ostree rollback" in back.commands
    assert newer.commands == ("sudo rpm-ostree upgrade", "sudo reboot")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"power": 90.1}, True),
        ({"power": 90.0}, False),  # one and a half times its maximum
        ({"sm_clock": 1034}, True),
        ({"sm_clock": 1035}, False),  # a third of its clock
        ({"power": WHY}, False),
        ({"event_reasons": ("sw-thermal-slowdown",)}, False),
    ],
)
def test_what_is_impossible(changes: dict[str, Any], named: bool) -> None:
    said = [message for _, message in ask(power_capped, laptop(**(FROZEN | changes)))]
    assert ["impossible" in message for message in said] == [named]
