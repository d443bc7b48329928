"""The same product for some seconds: what is counted, and that a flipped bit, a NaN and a lost product show."""

from collections.abc import Callable
from typing import Any

import pytest

from gpudoctor.workers.smoke import runner as benches
from gpudoctor.workers.smoke.runner import Stopped
from gpudoctor.workers.smoke.tests import stress
from gpudoctor.workers.smoke.timing import Samples
from tests.smoke.bench_kit import Device, Done, bench, reported, results

SIZE = 64


class Clock:
    """Time that passes only where work is done."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class Burner(Device):
    """A device whose products take 20 ms; the n-th result may be spoilt."""

    has = ("fp32", "bf16")
    spoil: Callable[[int, Any], None] | None = None
    slower = 1.0  # how many times as long the last seconds take
    clock: Clock

    def operand(self, values: Any, dtype: str, side: str = "a") -> tuple[Any, Any]:
        return super().operand(values, "fp32", side)

    def multiply(self, a: Any, b: Any, dtype: str) -> Callable[[], Any]:
        call = super().multiply(a, b, dtype)
        self.made = getattr(self, "made", 0)

        def product() -> Any:
            self.made += 1
            result = call()
            if self.spoil:
                self.spoil(self.made, result)
            return result

        return product

    def elapsed(self, call: Callable[[], Any], times: int) -> float:
        for _ in range(times):
            call()
        each = 0.02 * (self.slower if self.clock.now > 6 else 1.0)
        self.clock.now += each * times
        return each


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Products of 64 x 64 and a clock of their own."""
    made = Clock()
    monkeypatch.setattr(stress, "time", made)
    monkeypatch.setattr(stress, "measure", lambda on, call: Samples([0.02], 0.0, 0.0, 1.0))
    monkeypatch.setattr(stress, "PROBED", SIZE)
    monkeypatch.setattr(stress, "largest", lambda *_: SIZE)
    monkeypatch.setattr(stress, "MOST_BUFFERS", 5)
    return made


def one(clock: Clock, *, spoil: Any = None, slower: float = 1.0, **task: Any) -> Done:
    backend = Burner(clock=clock, slower=slower)
    backend.spoil = spoil
    (done,) = results(stress.run, bench(backend, **task))
    return done


def test_a_healthy_device(clock: Clock) -> None:
    done = one(clock, seconds=9)
    assert (done.outcome, done.variant) == ("done", "")
    expected = {"wrong": 0, "not_finite": 0, "buffers": 5, "size": SIZE, "dtype": "bf16"}
    assert done.notes.items() >= expected.items()
    assert done.notes["products"] == pytest.approx(450, abs=2)
    assert done.notes["seconds"] == pytest.approx(9, abs=0.1)
    assert done.samples["rate"] == pytest.approx([2e-12 * SIZE**3 / 0.02] * 9)
    assert (done.figures["last third"], done.units["rate"]) == (pytest.approx(1.0), "TFLOP/s")
    assert done.figures["error"] < 1e-6


def test_progress_is_told_each_second(clock: Clock) -> None:
    on = bench(Burner(clock=clock), seconds=4)
    stress.run(on)
    assert [line["progress"] for line in reported(on) if "progress" in line] == pytest.approx(
        [0.25, 0.5, 0.75, 1.0], abs=0.05
    )


def flipped(number: int, result: Any) -> None:
    """One bit of one element of one product."""
    if number == 100:
        result.view("uint32")[3, 4] ^= 1


def first_wrong(number: int, result: Any) -> None:
    """The product that all others are held against has a wrong row."""
    if number == FIRST:
        result[5] *= 2


FIRST = 5  # four products tell how long one takes


def test_a_flipped_bit_shows(clock: Clock) -> None:
    done = one(clock, spoil=flipped, seconds=3)
    assert (done.notes["wrong"], done.notes["not_finite"]) == (1, 0)


def test_products_that_are_lost_show(clock: Clock) -> None:
    def spoil(number: int, result: Any) -> None:
        if number > 150:
            result.fill(float("nan"))

    done = one(clock, spoil=spoil, seconds=5)
    assert done.notes["wrong"] == done.notes["not_finite"] == (5 + done.notes["products"] - 150) * SIZE * SIZE


def test_a_wrong_first_product_shows_twice(clock: Clock) -> None:
    done = one(clock, spoil=first_wrong, seconds=3)
    assert done.figures["error"] > 0.01
    assert done.notes["worst_row"] == 5
    assert done.notes["wrong"] == done.notes["products"] * SIZE


def test_a_device_that_slows_down_shows(clock: Clock) -> None:
    done = one(clock, slower=2.0, seconds=9)
    assert done.figures["last third"] == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize(
    ("has", "dtypes", "chosen"),
    [
        (("fp32", "bf16"), [], "bf16"),
        (("fp32", "fp16"), [], "fp32"),
        (("fp32", "bf16"), ["fp32", "fp16"], "fp32"),
        (("fp32", "fp16"), ["fp16"], "fp16"),
        (("fp32",), ["fp8"], "fp8"),
    ],
)
def test_the_data_type(has: tuple[str, ...], dtypes: list[str], chosen: str) -> None:
    assert stress.chosen(bench(Device(has=has), dtypes=dtypes)) == chosen


def test_a_type_that_it_has_not(clock: Clock) -> None:
    backend = Burner(clock=clock, has=("fp32",))
    (done,) = results(stress.run, bench(backend, dtypes=["fp8"]))
    assert (done.outcome, done.message) == ("unsupported", "NumPy has no matmul in fp8.")


@pytest.mark.parametrize(("asked", "seconds"), [(None, 10), (3, 3), (7200, 20)])
def test_how_long(clock: Clock, asked: int | None, seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stress, "MOST_SECONDS", 20.0)
    task = {} if asked is None else {"seconds": asked}
    assert one(clock, **task).notes["seconds"] == pytest.approx(seconds, abs=0.1)


def test_what_was_counted_is_told_where_it_is_ended_early(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(number: int, _: Any) -> None:
        if number > 120:
            benches._ASKED.append(15)

    monkeypatch.setattr(benches, "_ASKED", [])
    on = bench(Burner(clock=clock), seconds=9)
    on.backend.spoil = spoil  # type: ignore[attr-defined]
    with pytest.raises(Stopped):
        stress.run(on)
    done = Done(reported(on)[-1]["result"])
    assert (done.outcome, done.notes["wrong"]) == ("stopped", 0)
    assert done.notes["products"] > 100
    assert done.figures["rate"] > 0


@pytest.mark.parametrize(
    ("attributes", "dtype", "size", "count"),
    [
        ({"room": 80 << 30}, "bf16", 8192, 14),  # 2 GiB less two operands of 128 MiB
        ({"room": 80 << 30}, "fp32", 8192, 6),
        ({"room": 80 << 30}, "bf16", 512, 64),
        ({"room": 300 << 20}, "fp32", 2048, 2),
        ({"kind": "cpu"}, "fp32", 1024, 4),
    ],
)
def test_buffers(attributes: dict[str, Any], dtype: str, size: int, count: int) -> None:
    assert stress.buffers(bench(Device(**attributes)), dtype, size) == count


def test_for_the_cpu_the_product_is_modest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stress, "PROBED", SIZE)
    assert stress._size(bench(), "fp32") == 1024
