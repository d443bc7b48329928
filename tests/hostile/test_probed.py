"""What probes bring home from a hostile machine: a value that cannot be is unknown, and nothing else is lost."""

import math
from typing import Any

import msgspec
import pytest

from gpudoctor import check
from gpudoctor.facts import CudaDevice, Gpu, GpuProcess
from gpudoctor.facts.facts_file import load
from gpudoctor.facts.validation import of_child, sound
from gpudoctor.maybe import Unknown
from tests.builders import change, framework, gpu, nvidia_host, with_framework
from tests.machines.registry import machines

HOST = with_framework(framework(), nvidia_host(2))


@pytest.mark.parametrize("one", machines(), ids=lambda one: one.name)
def test_facts_that_can_be_are_left_as_they_are(one: Any) -> None:
    facts = one.make()
    assert sound(facts) is facts


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("gpus.1.memory", 10**400),
        ("gpus.1.power", math.nan),
        ("gpus.1.power", math.inf),
        ("gpus.1.link_width", 2**31),
        ("host.memory", -1),
        ("host.uptime", 1e300),
        ("nvidia.kernel.loaded", "\x00"),
        ("nvidia.nvml.count", 10**9),
        ("pythons.0.frameworks.0.version", "dev"),
        ("pythons.0.version", "9" * 5000),
        ("log.now", math.inf),
    ],
)
def test_a_wild_value_is_unknown_with_what_was_read(place: str, value: Any) -> None:
    facts = sound(change(HOST, place, value))
    node: Any = facts
    for step in place.split("."):
        node = node[int(step)] if step.isdecimal() else getattr(node, step)
    assert isinstance(node, Unknown)
    assert node.unknown.startswith("impossible value: ")
    assert len(node.unknown) < 100
    assert change(facts, place, None) == change(HOST, place, None)
    assert load(msgspec.json.encode(facts)) == facts
    assert [one for one in check(facts=facts).unknown if one.broken] == []


def test_a_process_without_a_number_leaves_all_of_its_gpu_unknown_and_no_other() -> None:
    facts = sound(change(HOST, "gpus.0.processes", (GpuProcess(pid=7), GpuProcess(pid=-7))))
    assert isinstance(facts.gpus, tuple)
    assert isinstance(facts.gpus[0].processes, Unknown)
    assert facts.gpus[1] == nvidia_host(2).gpus[1]  # type: ignore[index]


def test_what_cannot_be_unknown_is_left_out_and_named_as_failed() -> None:
    facts = sound(change(HOST, "pythons.0.frameworks.0.live.exit_code", 2**70))
    assert facts.pythons[0].frameworks[0].live is not None
    assert facts.pythons[0].frameworks[0].live.exit_code is None
    (failed,) = facts.failed
    assert failed[0] == "pythons.0.frameworks.0.live.exit_code"
    assert check(facts=facts).status != "pass"


def test_a_child_that_tells_nonsense_of_one_thing_is_believed_in_the_others() -> None:
    reported = {"vendor": "nvidia", "index": 0, "memory": -3, "temperature": 51, "name": "NVIDIA H100"}
    found = of_child(Gpu, reported)
    assert isinstance(found.memory, Unknown)
    assert (found.temperature, found.name) == (51, "NVIDIA H100")
    assert of_child(Gpu, msgspec.to_builtins(gpu())) == gpu()
    device = of_child(CudaDevice, {"index": 1, "name": "NVIDIA H100", "memory": 10**30, "uuid": None})
    assert isinstance(device.memory, Unknown)
    assert device.name == "NVIDIA H100"
    with pytest.raises(msgspec.ValidationError):
        of_child(Gpu, {"vendor": "nvidia", "index": -1})
