"""Every fact of every machine can be expected by its path, and nothing that is written in a file makes us fall over."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.expect import ExpectFileError
from gpudoctor.expect.loader import loads
from gpudoctor.expect.operators import OPERATORS, shown
from gpudoctor.expect.paths import PathError, joined, resolve, split
from gpudoctor.expect.toml_writer import quoted
from gpudoctor.expect.values import found
from gpudoctor.facts import Facts
from gpudoctor.maybe import Unknown
from tests.checks import smoke_machines as smoke
from tests.expect import asked
from tests.machines.registry import machines

FACTS = {machine.name: machine.make for machine in machines()[::7]} | {"measured": smoke.machine}
KIND = {str: "text", int: "whole", float: "number", bool: "truth", tuple: "list", dict: "dict"}


def leaves(node: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every path of a tree with what is there."""
    if path:
        yield path, node
    if isinstance(node, Unknown):
        return
    if isinstance(node, msgspec.Struct):
        for name in node.__struct_fields__:
            yield from leaves(getattr(node, name), (*path, name))
    elif isinstance(node, tuple):
        for number, one in enumerate(node):
            yield from leaves(one, (*path, str(number)))
    elif isinstance(node, dict):
        for name, one in node.items():
            yield from leaves(one, (*path, name))


@pytest.mark.parametrize("name", FACTS)
def test_each_fact_is_found_at_its_path_and_is_what_it_is(name: str) -> None:
    facts = FACTS[name]()
    for path, value in leaves(facts):
        steps = split(joined(path))
        assert steps == path
        leaf = resolve(steps)
        (one,) = found(facts, steps)
        if isinstance(one.value, Unknown):
            continue  # or its list is one that nobody asked for
        assert one.value == value
        if value is not None and not isinstance(value, msgspec.Struct):
            assert leaf.kinds & {KIND[type(value)], "number" if isinstance(value, int) else ""}
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            operator = OPERATORS["is"]
            assert operator.holds(operator.read(value, leaf), value)


@pytest.mark.parametrize("name", FACTS)
def test_presence_of_each_fact(name: str) -> None:
    facts = FACTS[name]()
    paths = [path for path, _ in leaves(facts) if len(path) < 4 and all(path)]
    text = "".join(f"[expect.{quoted(joined(path))}]\npresent = true\n" for path in paths)
    assert {outcome for outcome, _ in asked(text, facts)} <= {"pass", "problem", "unknown"}


WORDS = ["gpus", "*", "0", "name", "nvidia", "kernel", "loaded", "pythons", "frameworks", "torch", "smoke", "x"]
STEPS = st.sampled_from([*WORDS, "", '"'])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@given(st.lists(STEPS, max_size=6).map(".".join) | st.text(max_size=20), st.sampled_from(sorted(OPERATORS)), VALUES)
@settings(max_examples=300, deadline=None)
def test_any_expectation_is_read_or_refused(path: str, name: str, value: object) -> None:
    try:
        leaf = resolve(split(path))
        wanted = OPERATORS[name].read(value, leaf)
    except PathError:
        return
    assert OPERATORS[name].words(wanted, shown)
    assert found(Facts(), split(path))


@given(st.text(alphabet="[]expct.\"gus*=1\n #'{},t", max_size=60) | st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ExpectFileError):
        assert loads(text, "e.toml")
