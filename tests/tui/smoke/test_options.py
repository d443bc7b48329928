"""What can be chosen, and what comes of a choice."""

from typing import Any

import pytest

from gpudoctor.smoketests.options import ChoiceError, SmokeOptions
from gpudoctor.smoketests.plan import plan
from gpudoctor.smoketests.suite import TESTS
from gpudoctor.tui.smoke.options import NONE_CHOSEN, choice, groups, preset
from tests.builders import plain_host
from tests.checks.smoke_machines import MI300X, machine

QUICK = tuple(test.name for test in TESTS if test.quick)


def names(facts: Any, group: str) -> list[tuple[str, bool]]:
    return [(option.value, option.preset) for option in groups(facts)[group]]


def test_frameworks_are_preset_and_what_needs_none_is_there() -> None:
    facts = machine(count=2)
    assert names(facts, "backends") == [("pytorch", True), ("driver", False), ("cpu", False)]
    assert [(option.name, option.preset) for option in groups(facts)["devices"]] == [
        ("GPU 0", True),
        ("GPU 1", True),
        ("CPU", False),
    ]


def test_without_a_gpu_the_cpu_is_there_for_who_chooses_it() -> None:
    assert names(plain_host(), "backends") == [("cpu", True)]
    assert names(plain_host(), "devices") == [("cpu", False)]
    found = groups(plain_host())
    picked = {name: preset(options) for name, options in found.items()}
    with pytest.raises(ChoiceError, match="No GPU found"):
        choice(found, picked, 10)
    assert choice(found, picked | {"devices": ("cpu",)}, 10) == SmokeOptions(tests=QUICK, devices=("cpu",))


def test_amds_gpus_have_no_cuda_driver() -> None:
    assert [name for name, _ in names(machine(MI300X), "backends")] == ["pytorch", "cpu"]


def test_before_the_facts_are_there_only_tests_and_data_types_are_known() -> None:
    found = groups(None)
    assert (found["backends"], found["devices"]) == ((), ())
    assert preset(found["tests"]) == QUICK


def test_what_was_preset_counts_as_not_chosen() -> None:
    found = groups(machine(count=2))
    picked = {name: preset(options) for name, options in found.items()}
    assert choice(found, picked, 10) == SmokeOptions(tests=QUICK)


def test_each_device_that_can_be_chosen_is_found_again() -> None:
    facts = machine(count=8)
    found = groups(facts)
    for place, device in enumerate(found["devices"][:-1]):
        picked = {name: preset(options) for name, options in found.items()} | {"devices": (device.value,)}
        assert [job.target.label for job in plan(facts, choice(found, picked, 10))] == [f"GPU {place}"]


@pytest.mark.parametrize(("group", "sentence"), NONE_CHOSEN.items())
def test_an_empty_group_has_its_sentence(group: str, sentence: str) -> None:
    found = groups(machine())
    picked = {name: preset(options) for name, options in found.items()} | {group: ()}
    with pytest.raises(ChoiceError, match=sentence):
        choice(found, picked, 10)
