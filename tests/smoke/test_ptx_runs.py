"""The shipped PTX itself, run instruction by instruction, gives NumPy's numbers: no GPU is asked what it means."""

from pathlib import Path
from typing import Any

import numpy
import pytest

from gpudoctor.workers.smoke.cuda import kernels
from gpudoctor.workers.smoke.cuda.kernels import SPAN
from tests.smoke.ptx_machine import Machine

TEXT = Path(kernels.PTX).read_text(encoding="ascii")
NAN = numpy.float32("nan")


@pytest.fixture
def machine() -> Machine:
    return Machine(TEXT)


def chance(*shape: int) -> Any:
    return numpy.random.default_rng(sum(shape)).standard_normal(shape, dtype=numpy.float32)


def empty(*shape: int) -> Any:
    return numpy.full(shape, NAN)


def numbers(elements: int) -> Any:
    return (numpy.arange(elements, dtype="uint32") * numpy.uint32(2654435761) >> numpy.uint32(28)).astype("float32")


@pytest.mark.parametrize("turned", [(False, False), (True, True)])
@pytest.mark.parametrize("shape", [(1, 1, 1), (130, 18, 70), (64, 33, 129)])
def test_products(machine: Machine, shape: tuple[int, int, int], turned: tuple[bool, bool]) -> None:
    rows, depth, columns = shape
    a, b = chance(rows, depth), chance(depth, columns)
    left, right = machine.put(a.T if turned[0] else a), machine.put(b.T if turned[1] else b)
    out = machine.put(empty(rows, columns))
    steps = ((1, rows) if turned[0] else (depth, 1)), ((1, depth) if turned[1] else (columns, 1))
    grid = (-(-columns // 128), -(-rows // 128))
    machine.launch("multiply", grid, left, *steps[0], right, *steps[1], out, rows, columns, depth)
    true = a.astype("float64") @ b.astype("float64")
    assert abs(machine.get(out, (rows, columns)) - true).max() < 1e-5


def test_a_bias_is_added_with_relu_and_without(machine: Machine) -> None:
    y, bias = chance(90, 7), chance(7)
    y[3, 2] = NAN
    for relu in (0, 1):
        at = machine.put(y)
        machine.launch("add_bias", (3, 1), at, machine.put(bias), 90, 7, relu)
        true = numpy.maximum(y + bias, 0) if relu else y + bias
        assert numpy.array_equal(machine.get(at, (90, 7)), true, equal_nan=True)


def test_the_cross_entropy_and_its_slope(machine: Machine) -> None:
    rows, classes = 300, 10
    logits, labels = 5 * chance(rows, classes), numpy.arange(rows, dtype="int32") % classes
    losses, slope = machine.put(empty(rows)), machine.put(empty(rows, classes))
    machine.launch("entropy", (2, 1), machine.put(logits), machine.put(labels), losses, slope, rows, classes)
    exact = numpy.exp(logits.astype("float64") - logits.max(1, keepdims=True))
    true = exact / exact.sum(1, keepdims=True)
    assert abs(machine.get(losses, (rows,)) + numpy.log(true[numpy.arange(rows), labels])).max() < 1e-5
    true[numpy.arange(rows), labels] -= 1
    assert abs(machine.get(slope, (rows, classes)) - true / rows).max() < 1e-8


def test_the_steps_back(machine: Machine) -> None:
    slope, after, weight = chance(40, 9), numpy.maximum(chance(40, 9)[::-1], 0), chance(300)
    behind, sums, at = machine.put(slope), machine.put(empty(9)), machine.put(weight)
    machine.launch("relu_back", (2, 1), behind, machine.put(after), 360)
    assert (machine.get(behind, (40, 9)) == slope * (after > 0)).all()
    machine.launch("column_sums", (1, 1), behind, sums, 40, 9)
    assert abs(machine.get(sums, (9,)) - (slope * (after > 0)).sum(0)).max() < 1e-5
    machine.launch("descend", (2, 1), at, machine.put(chance(300)[::-1]), 0.25, 300)
    assert abs(machine.get(at, (300,)) - (weight - 0.25 * chance(300)[::-1])).max() < 1e-6


@pytest.mark.parametrize("elements", [3, SPAN, 2 * SPAN + 5])
def test_vectors(machine: Machine, elements: int) -> None:
    x, y, z = (machine.put(empty(elements)) for _ in range(3))
    spans = -(-elements // SPAN)
    sums, wrong = machine.put(empty(spans)), machine.put(numpy.full(2, -1, "int32"))
    machine.launch("number", (2, 1), x, elements)
    assert (machine.get(x, (elements,)) == numbers(elements)).all()
    machine.launch("copy", (spans, 1), x, y, elements)
    machine.launch("triad", (spans, 1), x, y, z, elements)
    assert (machine.get(y, (elements,)) == numbers(elements)).all()
    assert (machine.get(z, (elements,)) == 4 * numbers(elements)).all()
    machine.launch("read_sums", (spans, 1), x, sums, elements)
    true = [numbers(elements)[at * SPAN : (at + 1) * SPAN].sum() for at in range(spans)]
    assert machine.get(sums, (spans,)).tolist() == true
    machine.launch("wrong_numbers", (2, 1), z, 4.0, wrong, elements)
    assert machine.get(wrong, (2,), "int32").tolist() == [0, 0]
    machine.launch("wrong_numbers", (2, 1), z, 1.0, wrong, elements)
    assert machine.get(wrong, (2,), "int32").sum() == (numbers(elements) != 0).sum()


def test_wrong_sums(machine: Machine) -> None:
    elements, wrong = SPAN + 5, machine.put(numpy.full(1, -1, "int32"))
    sums = numpy.array([numbers(SPAN).sum(), numbers(elements)[SPAN:].sum()], "float32")
    for more, count in ((0, 0), (1, 1)):
        sums[1] += more
        machine.launch("wrong_sums", (1, 1), machine.put(sums), wrong, elements)
        assert machine.get(wrong, (1,), "int32").tolist() == [count]


def test_unequal(machine: Machine) -> None:
    one, wrong = chance(1000), machine.put(numpy.full(3, -1, "int32"))
    other = one.copy()
    other.view("uint32")[[0, 511]] ^= 1
    one[999] = other[999] = NAN
    machine.launch("unequal", (3, 1), machine.put(one), machine.put(other), wrong, 1000)
    assert machine.get(wrong, (3,), "int32").sum() == 3


def test_the_machine_sees_an_access_beyond_the_end(machine: Machine) -> None:
    x, y = machine.put(chance(5)), machine.put(empty(4))
    with pytest.raises(IndexError, match="memory of nobody"):
        machine.launch("copy", (1, 1), x, y, 5)


def test_the_machine_refuses_what_it_does_not_know() -> None:
    with pytest.raises(KeyError, match="popc"):
        Machine(TEXT.replace("mov.u32", "popc.b32")).launch("number", (1, 1), 0, 1)
