"""What most nodes of a group have, out of what differs between them."""

from array import array
from collections import Counter

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.fleet.aggregate.inventory_sections import InventorySection
from gpudoctor.fleet.aggregate.majority import agreed

Machine = dict[str, str | int | None]


def reported(groups: list[int], *machines: Machine) -> dict[int, dict[str, str]]:
    section = InventorySection()
    for machine in machines:
        data = msgspec.json.encode(machine)
        section.of.append(section.number(data, lambda one: dict(msgspec.json.decode(one))))
    return agreed([section], array("I", groups))


def test_what_more_than_half_have() -> None:
    new: Machine = {"driver": "580", "rocm": None}
    old: Machine = {"driver": "570", "rocm": None}
    assert reported([0, 0, 0], new, old, new) == {0: {"driver": "580", "rocm": "none"}}
    assert reported([0, 0], new, old) == {0: {"rocm": "none"}}
    assert reported([0, 0, 1], new, old, old)[1] == {"driver": "570", "rocm": "none"}


def test_who_does_not_know_it_does_not_count() -> None:
    assert reported([0, 0, 0], {}, {}, {"driver": "580"}) == {0: {"driver": "580"}}
    assert reported([0], {}) == {0: {}}


def test_a_package_that_most_do_not_have_is_not_what_most_have() -> None:
    assert reported([0, 0, 0], {}, {}, {"packages.torch": "2.9"}) == {0: {}}
    assert reported([0, 0, 0], {}, {"packages.torch": "2.9"}, {"packages.torch": "2.9"}) == {
        0: {"packages.torch": "2.9"}
    }


_MACHINES = st.lists(
    st.tuples(st.integers(0, 2), st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "2"]))), min_size=1
)


@given(_MACHINES)
@settings(max_examples=200, deadline=None)
def test_it_is_as_counting_each_node(nodes: list[tuple[int, Machine]]) -> None:
    found = reported([group for group, _ in nodes], *(machine for _, machine in nodes))
    for group in {group for group, _ in nodes}:
        expected = {}
        for fact in "abc":
            values = Counter(machine[fact] for other, machine in nodes if other == group and fact in machine)
            if values and 2 * max(values.values()) > values.total():
                expected[fact] = str(values.most_common(1)[0][0])
        assert found[group] == expected
