"""What is made of samples: which fall into a test, which into its measurement, and by how much counters grew."""

from typing import Any

import pytest

from gpudoctor.facts.smoke import During
from gpudoctor.maybe import Maybe, Unknown
from gpudoctor.sampling.lines import Counters, GpuSample
from gpudoctor.smoketests.telemetry import BACK, COUNTERS, busy, during, nothing

LOST = Unknown("NVML: GPU is lost")
HUNG = "the driver stopped responding while it was queried for the clocks of GPU 0"
FAR = Unknown("the test was over before the driver was queried again")
UNREAD = Unknown("the counter was not read both before and after the test")
IDLE, POWER, THERMAL = 1, 4, 64  # NVML's bits


def samples(name: str, *values: Any, at: float = 0.0) -> list[GpuSample]:
    """Samples a second apart that differ in one thing."""
    plain = {"sm_clock": 1500, "event_reasons": 0}
    return [GpuSample(at=at + place, **plain | {name: value}) for place, value in enumerate(values)]


def reported(
    found: list[GpuSample], window: tuple[float, float], *timed: tuple[float, float], why: str | None = None
) -> During:
    return during(found, [], window, timed, why)


# -- samples -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("timed", "middle", "least"),
    [
        ([], 300, 100),
        ([(1.0, 3.0)], 300, 200),
        ([(0.0, 0.5), (3.5, 9.0)], 300, 100),
        ([(3.0, 3.0)], 400, 400),
        ([(2.97, 2.98)], 400, 400),  # between two samples: the next one, where it comes at once
        ([(2.1, 2.2)], FAR, FAR),
        ([(8.0, 9.0)], FAR, FAR),
    ],
)
def test_clocks_are_those_of_the_measurement(timed: list[tuple[float, float]], middle: object, least: object) -> None:
    found = reported(samples("sm_clock", 100, 200, 300, 400, 500), (0.0, 4.0), *timed)
    assert (found.sm_clock, found.sm_clock_min) == (middle, least)


def test_a_sample_after_the_measurement_stands_in_and_never_joins() -> None:
    found = [GpuSample(at=at, sm_clock=clock) for at, clock in ((1.0, 1900), (1.55, 300))]
    assert reported(found, (0.0, 4.0), (0.9, 1.5)).sm_clock == 1900
    assert reported(found, (0.0, 4.0), (1.1, 1.5)).sm_clock == 300


def test_memory_has_its_clock_too() -> None:
    assert reported(samples("memory_clock", 800, 2619, 2619), (0.0, 2.0)).memory_clock == 2619


def test_the_clocks_of_an_idle_gpu_say_nothing_unless_it_was_always_idle() -> None:
    found = [
        GpuSample(at=float(at), sm_clock=clock, event_reasons=bits)
        for at, (clock, bits) in enumerate([(210, IDLE), (1900, 0), (1800, POWER), (345, IDLE | POWER)])
    ]
    assert (reported(found, (0.0, 3.0)).sm_clock, reported(found, (0.0, 3.0)).sm_clock_min) == (1850, 1800)
    assert reported(found, (0.0, 3.0), (2.5, 3.5)).sm_clock == 345


def test_temperature_and_power_are_the_highest_of_the_test_and_of_nothing_else() -> None:
    hot, loud = samples("temperature", 99, 50, 70, 60, 98), samples("power", 700, 200.5, 300, 250, 700)
    assert reported(hot, (1.0, 3.0), (3.0, 3.0)).temperature == 70
    assert reported(loud, (1.0, 3.0), (3.0, 3.0)).power == 300


@pytest.mark.parametrize(
    ("bits", "names"),
    [
        ([0, 0, 0], ()),
        ([IDLE, 0, IDLE], ()),
        ([0, POWER, POWER | THERMAL], ("sw-power-cap", "hw-thermal-slowdown")),
        ([IDLE | THERMAL, 0, 0], ("hw-thermal-slowdown",)),
        ([LOST, POWER, LOST], ("sw-power-cap",)),
        ([None, None, None], None),
        ([LOST, None, None], None),
        ([LOST, LOST, LOST], LOST),
        ([], FAR),
    ],
)
def test_reasons_are_all_that_were_seen(bits: list[Any], names: object) -> None:
    assert reported(samples("event_reasons", *bits), (0.0, 2.0)).reasons == names


@pytest.mark.parametrize(
    ("links", "best"),
    [
        ([(1, 16), (4, 8), (4, 8), (1, 16)], (4, 8)),
        ([(1, 16), (5, 4), (5, 8)], (5, 8)),
        ([(None, None)], (None, None)),
        ([(LOST, LOST), (3, 16)], (3, 16)),
        ([(LOST, LOST)], (LOST, LOST)),
        ([(4, LOST)], (4, LOST)),
        ([], (FAR, FAR)),
    ],
)
def test_the_link_is_the_fastest_that_was_seen(links: list[tuple[Any, Any]], best: object) -> None:
    found = [GpuSample(at=float(at), link_generation=g, link_width=w) for at, (g, w) in enumerate(links)]
    assert (reported(found, (0.0, 9.0)).link_generation, reported(found, (0.0, 9.0)).link_width) == best


@pytest.mark.parametrize(
    ("values", "power"), [([None], None), ([LOST, None], None), ([LOST], LOST), ([LOST, 9.0, None], 9.0), ([], FAR)]
)
def test_one_number_is_enough(values: list[Any], power: object) -> None:
    assert reported(samples("power", *values), (0.0, 9.0)).power == power


def test_what_is_missing_says_why_and_what_came_before_is_kept() -> None:
    found = samples("power", 100.0, 200.0)
    assert reported(found, (5.0, 9.0), why=HUNG).power == Unknown(HUNG)
    halfway = reported(found, (1.0, 9.0), (4.0, 5.0), why=HUNG)
    assert (halfway.samples, halfway.power, halfway.sm_clock) == (1, 200.0, Unknown(HUNG))


def test_where_nobody_was_asked_everything_has_one_reason() -> None:
    assert reported([], (0.0, 1.0), why="x") == nothing("x")
    assert (nothing("x").samples, nothing("x").power, nothing("x").pcie_replays) == (0, Unknown("x"), Unknown("x"))


# -- counters ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("readings", "growth"),
    [
        ([(0, 5), (1, 5), (4, 5)], 0),
        ([(0, 5), (1, 6), (4, 8), (5, 99)], 2),  # the last before and the first after
        ([(1.5, 5), (4, 5)], UNREAD),  # nothing before the test: no growth proves nothing
        ([(1.5, 5), (4, 7)], 2),
        ([(1, 5), (2, 7)], 2),
        ([(1, 5), (2, 5)], UNREAD),
        ([(0, LOST), (1, 5), (2, 5)], UNREAD),
        ([(1, 5)], UNREAD),
        ([(4, 5)], UNREAD),
        ([], UNREAD),
        ([(0, 9), (4, 2)], BACK),
        ([(1, None), (4, None)], None),
        ([(1, LOST), (4, LOST)], LOST),
        ([(1, 5), (2, LOST), (4, 5)], 0),
        ([(1, 5), (2, 6), (4, LOST)], 1),
        ([(1, 5), (2, 5), (4, LOST)], LOST),
        ([(0, 5), (1, LOST), (4, 6)], 1),
    ],
)
@pytest.mark.parametrize("name", COUNTERS)
def test_counters_tell_how_much_they_grew(name: str, readings: list[tuple[float, Any]], growth: Maybe[int]) -> None:
    found = [Counters(at=float(at), **{name: value}) for at, value in readings]
    assert getattr(during([], found, (1.0, 3.0), (), None), name) == growth


@pytest.mark.parametrize(("values", "growth"), [((5, 5), Unknown(HUNG)), ((5, 6), 1)])
def test_a_hang_leaves_what_grew_before_it(values: tuple[int, int], growth: object) -> None:
    found = [Counters(at=float(at), pcie_replays=value) for at, value in enumerate(values)]
    assert during([], found, (0.0, 3.0), (), HUNG).pcie_replays == growth


# -- before --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("readings", "others"),
    [
        ([(1, 2), (4, 1), (6, 7)], 1),
        ([(6, 7)], Unknown("the driver had not responded before the tests began")),
        ([(1, None)], None),
        ([(1, LOST)], LOST),
    ],
)
def test_others_are_those_of_the_last_look_before(readings: list[tuple[float, Any]], others: object) -> None:
    found = [Counters(at=float(at), others=value) for at, value in readings]
    assert busy([], found, 5.0, None)[0] == others


@pytest.mark.parametrize(
    ("shares", "utilization"),
    [
        ([(3.0, 100), (4.2, 0), (4.4, 6), (4.6, 90), (5.1, 100)], 6),
        ([(4.5, 3), (4.6, 4)], 4),
        ([(3.9, 100)], Unknown("the driver had not responded before the tests began")),
        ([(4.5, None)], None),
    ],
)
def test_utilization_is_that_of_the_second_before(shares: list[tuple[float, Any]], utilization: object) -> None:
    found = [GpuSample(at=at, utilization=value) for at, value in shares]
    assert busy(found, [], 5.0, None)[1] == utilization


@pytest.mark.parametrize(
    ("ours", "utilization"),
    [
        ([], 80),
        ([(4.0, 9.8)], 3),  # our own work echoes in the average: the second before it counts
        ([(4.0, 6.0), (6.1, 9.8)], 3),
        ([(4.0, 5.0), (6.1, 7.9)], 80),  # long enough ago
    ],
)
def test_our_own_work_is_no_sign_of_others(ours: list[tuple[float, float]], utilization: int) -> None:
    found = [
        GpuSample(at=at, utilization=value) for at, value in ((3.2, 3), (3.9, 3), (5.0, 100), (9.2, 80), (9.9, 80))
    ]
    assert busy(found, [], 10.0, None, ours)[1] == utilization


def test_a_driver_that_did_not_answer_before_says_why() -> None:
    assert busy([], [], 5.0, HUNG) == (Unknown(HUNG), Unknown(HUNG))
