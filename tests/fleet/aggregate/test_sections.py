"""Classes of nodes that say the same; and what is given up where nearly all say something of their own."""

import json
from array import array

import pytest

from gpudoctor.fleet.aggregate import inventory_sections
from gpudoctor.fleet.aggregate.inventory_facts import Facts
from gpudoctor.fleet.aggregate.inventory_sections import ABSENT, InventorySection


def _section(*nodes: Facts) -> InventorySection:
    section = InventorySection()
    for number, facts in enumerate(nodes):
        section.of.append(section.number(json.dumps(facts).encode(), json.loads))
        if number % 16 == 15:
            section.slim()
    return section


def _facts(section: InventorySection, node: int) -> Facts:
    names = section.base.keys() | section.delta(section.of[node]).keys()
    values = {name: section.value(section.of[node], name) for name in names}
    return {name: value for name, value in values.items() if value is not ABSENT}  # type: ignore[misc]


def test_nodes_that_say_the_same_are_one_class() -> None:
    given: list[Facts] = [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1}, {}, {"a": 1, "b": 3, "c": 4}]
    section = _section(*given)
    assert section.of == array("I", [0, 0, 1, 2, 3])
    assert [_facts(section, node) for node in range(5)] == given
    assert [section.empty(number) for number in range(4)] == [False, False, True, False]


def test_the_same_bytes_are_parsed_once() -> None:
    section, seen = InventorySection(), []

    def parse(data: bytes) -> Facts:
        seen.append(data)
        return {"a": data.decode()}

    for data in (b"x", b"y", b"x", b"x", b"y"):
        section.number(data, parse)
    assert seen == [b"x", b"y"]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory_sections, "_KEPT", 1000)
    given: list[Facts] = [{"a": number % 2, "b": "." * 100} for number in range(100)]
    section = _section(*given)
    assert section.classes() == 2
    assert sum(map(len, section._memo)) <= 1000


@pytest.mark.parametrize("limit", ["_CLASSES", "_DIFFERENCES"])
def test_a_fact_of_too_many_values_is_given_up(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(inventory_sections, limit, 50)
    given: list[Facts] = [{"own": number, "kind": number % 3, "same": 1} for number in range(500)]
    section = _section(*given)
    assert list(section.given_up) == ["own"]
    assert section.given_up["own"] >= 30
    assert section.classes() <= 70
    assert [_facts(section, node) for node in range(500)] == [{"kind": n % 3, "same": 1} for n in range(500)]


def test_an_odd_first_node_gives_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory_sections, "_DIFFERENCES", 400)
    usual: Facts = {f"p{number}": "1" for number in range(50)}
    given: list[Facts] = [{}, *(usual | {f"p{number % 20}": "2"} if number % 2 else usual for number in range(200))]
    section = _section(*given)
    assert section.given_up == {}
    assert [_facts(section, node) for node in range(201)] == given


def test_names_of_facts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inventory_sections, "_NAMES", 50)
    given: list[Facts] = [{"driver": number % 2, f"own {number}": number} for number in range(500)]
    section = _section(*given)
    assert section.given_up[inventory_sections.OTHER] == 451
    assert [_facts(section, node)["driver"] for node in range(500)] == [number % 2 for number in range(500)]
    assert len({name for number in range(section.classes()) for name in section.delta(number)}) <= 50
