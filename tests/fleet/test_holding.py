"""Expectations over reports: what a report carries is judged as `check` judges it; the rest is told, and no pass."""

from typing import Any

import msgspec
import pytest

from gpudoctor import check, demo
from gpudoctor.expect.loader import loads
from gpudoctor.facts import Facts
from gpudoctor.fleet.expectations import Holding, carried
from gpudoctor.report.inventory import GPU, MACHINE, Inventory, inventory
from gpudoctor.report.model import FindingEntry, Report
from tests.builders import change, gpu, nvidia_host
from tests.machines.registry import machines

MACHINES = {one.name: one.make for one in machines()}


def text(path: str, operator: str) -> str:
    quoted = path.replace('"', '\\"')
    return f'[expect."{quoted}"]\n{operator}\n'


def holding(path: str, operator: str) -> Holding:
    return Holding(loads(text(path, operator), "site.toml"))


def held(path: str, operator: str, report: Report) -> tuple[FindingEntry, ...]:
    return holding(path, operator)(report.inventory, report.smoke)


def report_on(facts: Facts) -> Report:
    """As it comes back from a file."""
    return msgspec.json.decode(msgspec.json.encode(check(facts=facts)), type=Report)


HOST = report_on(nvidia_host())


@pytest.mark.parametrize(
    ("path", "operator", "message"),
    [
        ("nvidia.kernel.loaded", 'is = "570.169"', None),
        (
            "nvidia.kernel.loaded",
            'is = "580.95.05"',
            'nvidia.kernel.loaded: expected "580.95.05", found "570.169".',
        ),
        ("nvidia.kernel.loaded", 'version = ">=570"', None),
        ("gpus", "count = 1", None),
        ("gpus", "count = 8", "gpus: expected 8 of them, found 1."),
        ("gpus.*.name", 'contains = "4090"', None),
        (
            "gpus.*.name",
            'contains = "H100"',
            'gpus.*.name: expected something with "H100", found "NVIDIA GeForce RTX 4090" (GPU 0).',
        ),
        (
            "gpus.3.name",
            'contains = "H100"',
            'gpus.3.name: expected something with "H100", found none: gpus.3 does not exist',
        ),
        ("gpus.0.memory", "at_least = 20000000000", None),
        ("gpus.0.memory", "at_least = 99000000000", "gpus.0.memory: expected at least "),
        ("host.distribution.name", 'contains = "ubuntu"', None),
    ],
)
def test_what_is_held(path: str, operator: str, message: str | None) -> None:
    found = held(path, operator, HOST)
    assert bool(found) == (message is not None)
    for one in found:
        assert one.message.startswith(message or "?")
        assert (one.status, one.subject) == ("fail", "site.toml:1")


def outcome(name: str, facts: Facts, path: str, operator: str) -> tuple[str, ...]:
    """What `check` itself says to an expectation, on the facts that the report was made of."""
    expected = loads(text(path, operator), "site.toml")
    from gpudoctor.check_engine import run

    return tuple(verdict.message for verdict in run(expected[0].check(facts), facts) if verdict.outcome == "problem")


QUESTIONS = (
    ("nvidia.kernel.loaded", 'version = ">=575"'),
    ("host.kernel.release", 'matches = "6.*"'),
    ("host.container", "present = false"),
    ("host.memory", "at_least = 500000000000"),
    ("gpus", "count = 8"),
    ("gpus.*.ecc", "is = true"),
    ("gpus.*.link_width", "at_least = 16"),
    ("gpus.0.vbios", "present = true"),
    ("gpus.*.mig", "is = false"),
    ("gpus.*.power_limit", "at_least = 400"),
    ("amd.rocm", "present = true"),
    ("pythons.*.packages.torch.version", 'version = ">=2.8"'),
    ("pythons.0.packages.numpy", "present = true"),
)


@pytest.mark.parametrize("name", MACHINES)
def test_a_report_is_judged_as_its_machine_is(name: str) -> None:
    """Whatever `check` finds is found in the report too, in the same words; and nothing else."""
    facts = MACHINES[name]()
    report = report_on(facts)
    listed = all(one.packages for one in facts.pythons)  # an empty list is taken for none: each interpreter has some
    for path, operator in QUESTIONS if listed else QUESTIONS[:-2]:
        assert tuple(one.message for one in held(path, operator, report)) == outcome(name, facts, path, operator), path


def test_figures_are_held() -> None:
    facts = demo.load("bad-link")
    report = report_on(facts)
    path = "smoke.pytorch.transfer.h2d pinned"
    assert held(path, "at_least = 0.001", report) == ()
    found = held(path, "at_least = 1000", report)
    assert [one.message for one in found] == list(outcome("", facts, path, "at_least = 1000"))
    assert found


@pytest.mark.parametrize("path", [*MACHINE, *(f"gpus.*.{name}" for name in GPU), "gpus"])
def test_whatever_the_inventory_lists_can_be_held(path: str) -> None:
    assert carried(path.split("."))
    one = holding(path, "present = true")
    one(HOST.inventory, HOST.smoke)
    assert "Not held" not in " ".join(one.unheld())


@pytest.mark.parametrize(
    ("path", "operator"),
    [
        ("gpus.*.nvlinks", "count = 18"),
        ("gpus.*.temperature", "at_most = 80"),
        ('gpus."0000:01:00.0".name', 'contains = "H"'),
        ("pythons.*.packages", "count = 3"),
        ("pythons.*.packages.*.version", 'version = ">1"'),
        ("pythons.*.version", 'version = ">1"'),
        ("pci", "count = 3"),
        ("smoke.seconds", "at_most = 3"),
        ("host.distribution", "present = true"),
    ],
)
def test_what_reports_do_not_carry_is_told_once(path: str, operator: str) -> None:
    one = holding(path, operator)
    for _ in range(3):
        assert one(HOST.inventory, HOST.smoke) == ()
    (message,) = one.unheld()
    assert message.startswith(
        f"Not checked: `{path}`. Reports do not contain it; use `gpudoctor fleet run --expect FILE`"
    )
    assert one.open


def test_many_such_paths_are_counted() -> None:
    one = Holding(loads("".join(text(f"pci.{n}.name", "present = true") for n in range(11)), "site.toml"))
    (message,) = one.unheld()
    assert "`pci.7.name` and 3 more. " in message


@pytest.mark.parametrize(
    "made",
    [
        Inventory(),
        Inventory(machine={"gpus": 1}, gpus=({},)),
        Inventory(machine={"gpus": 1}, gpus=({"memory": "many"},)),
        Inventory(machine={"gpus": 1}, gpus=({"memory": True},)),
    ],
)
def test_what_a_report_does_not_say_is_no_fail(made: Inventory) -> None:
    one = holding("gpus.*.memory", "at_least = 1")
    assert one(made, ()) == ()
    assert one.open
    (message,) = one.unheld()
    assert message.startswith("`gpus.*.memory` is unknown in any report: ")
    assert one(HOST.inventory, ()) == ()
    (message,) = one.unheld()
    assert message.startswith("`gpus.*.memory` is unknown in some of the reports: ")


def test_an_interpreter_without_a_list_of_packages_is_no_fail() -> None:
    one = holding("pythons.0.packages.torch.version", 'version = ">=2"')
    assert one(Inventory(packages={"/usr/bin/python3": {}}), ()) == ()
    assert one(Inventory(), ()) == ()
    assert one.open
    (found,) = one(Inventory(packages={"/usr/bin/python3": {"numpy": "2.0"}}), ())
    assert "found none" in found.message
    (found,) = one(Inventory(packages={"/usr/bin/python3": {"torch": "1.0"}}), ())
    assert 'found "1.0"' in found.message


def test_without_smoke_tests_a_figure_is_unknown() -> None:
    one = holding("smoke.pytorch.transfer.h2d pinned", "at_least = 1")
    assert one(HOST.inventory, ()) == ()
    assert "no smoke test was run" in one.unheld()[0]


@pytest.mark.parametrize(("severity", "status", "is_open"), [("fail", "fail", True), ("advice", "advice", False)])
def test_how_bad_it_is_is_for_the_file_to_say(severity: str, status: str, is_open: bool) -> None:
    one = holding("gpus", f'count = 8\nseverity = "{severity}"\nfix = "Call the vendor."\nmessage = "Too few."')
    (found,) = one(HOST.inventory, ())
    assert (found.status, found.message, found.fixes[0].message) == (status, "Too few.", "Call the vendor.")
    assert not one.open
    one(Inventory(), ())
    assert one.open is is_open


def test_all_held_leaves_nothing_open() -> None:
    one = holding("gpus", "count = 1")
    one(HOST.inventory, HOST.smoke)
    assert not one.open
    assert one.unheld() == ()


def test_equal_values_of_several_gpus_are_told_together() -> None:
    facts: Any = change(nvidia_host(), "gpus", tuple(gpu(n) for n in range(4)))
    one = holding("gpus.*.name", 'contains = "H100"')
    (found,) = one(inventory(facts), ())
    assert found.message.endswith("(GPUs 0 to 3).")
