"""`compare`: what is measured on a device, within its time; and CuPy's stand-in next to NumPy."""

import json
import time
from collections.abc import Callable
from typing import Any

import jsonschema
import msgspec
import pytest

from gpudoctor.facts import Facts, Smoke, SmokeRun
from gpudoctor.pipeline import CheckOptions, check
from gpudoctor.report.renderers import html, text
from gpudoctor.report.renderers import json as as_json
from gpudoctor.smoketests.options import ChoiceError, SmokeOptions, validated
from gpudoctor.smoketests.plan import plan
from gpudoctor.workers.smoke.backends.loading import Loading
from gpudoctor.workers.smoke.runner import Bench
from gpudoctor.workers.smoke.tests import compare
from gpudoctor.workers.smoke.timing import Samples
from tests.builders import change, framework, nvidia_host, plain_host, with_framework
from tests.report.schema import REPORT
from tests.smoke.bench_kit import Device, Done, bench, reported, results
from tests.smoke.cupy_kit import made, stand_in
from tests.smoke.driver_kit import libcuda, worked

__all__ = ["libcuda"]

TORCH, CUPY = framework("torch"), framework("cupy", cuda="12")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work of so little that all of it takes a second."""

    def once(on: Bench, call: Callable[[], Any], *_: float) -> Samples:
        seconds = [on.backend.elapsed(call, 1) for _ in range(3)]
        return Samples(seconds, seconds[0], 0.0, 1.0)

    monkeypatch.setattr(compare, "measure", once)
    monkeypatch.setattr(compare, "SIZES", (16, 32))
    monkeypatch.setattr(compare, "STEP_SAMPLES", (10, 100))
    monkeypatch.setattr(compare, "SAMPLES", 100)
    monkeypatch.setattr(compare, "STEPS", 10)
    monkeypatch.setattr(compare, "BATCHES", (1, 4))


def parts(on: Bench) -> dict[str, Done]:
    """What was measured, by kind of work."""
    return {done.variant: done for done in results(compare.run, on)}


@pytest.mark.usefixtures("small")
def test_on_the_cpu_each_size_is_measured_without_copies() -> None:
    found = parts(bench())
    assert list(found) == ["matmul", "training", "inference", "arrays"]
    assert {done.outcome for done in found.values()} == {"done"}
    assert list(found["matmul"].figures) == ["time 16", "time 32"]
    assert list(found["training"].figures) == ["time 10", "time 100"]
    assert list(found["inference"].figures) == ["rate 1", "rate 4"]
    assert set(found["arrays"].figures) == {"matmul", "add", "elementwise", "sum", "sort"}
    assert all(value > 0 for done in found.values() for value in done.figures.values())
    assert found["training"].notes["loss_after"] < found["training"].notes["loss_before"]  # it does train
    assert "not_reached" not in found["matmul"].notes
    assert found["matmul"].notes["cores"] >= 1


@pytest.mark.usefixtures("small")
def test_figures_are_medians_of_their_samples() -> None:
    done = parts(bench())["matmul"]
    assert done.figures["time 32"] == sorted(done.samples["time 32"])[1]


@pytest.mark.usefixtures("small")
def test_without_time_nothing_is_measured_and_that_is_reported() -> None:
    found = parts(bench(budget=1e-9))
    assert {done.outcome for done in found.values()} == {"done"}
    assert found["matmul"].notes["not_reached"] == "16, 32"
    assert found["training"].notes["not_reached"] == "10, 100"
    assert found["arrays"].notes["not_reached"].startswith("matmul, add")
    assert [done.figures for done in found.values()] == [{}] * 4


def test_a_size_that_would_take_too_long_is_not_begun() -> None:
    begun, on, asked = time.monotonic(), bench(), []

    def measured(size: int) -> float:
        asked.append(size)
        return size / 100  # seconds, as it says

    with on.test("compare", "matmul"):
        last = compare._sweep(on, (1, 10, 100, 1000), begun + 30, 5, 1, measured)
    (done,) = [Done(line["result"]) for line in reported(on) if "result" in line]
    # After the 10, which took 0.1 s, the 100 are likely to take 5 s, and after them the 1000 to take 50.
    assert (asked, last, done.notes["not_reached"]) == ([1, 10, 100], 100, "1000")


@pytest.mark.usefixtures("small")
def test_sizes_for_which_there_is_no_memory_are_left_out() -> None:
    done = parts(bench(Device(room=260 << 20)))["matmul"]
    assert "no_room" not in done.notes  # four MiB are enough for both
    done = parts(bench(Device(room=(256 << 20) + 8192)))["matmul"]
    assert done.notes["no_room"] == "32"


def test_importing_the_framework_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    on = bench(budget=5.0)
    on.spent = 6.0
    assert {done.notes.get("not_reached") is not None for done in parts(on).values()} == {True}


# -- data loading ------------------------------------------------------------------------------------------------


class Loader(Loading):
    """A loader that keeps how it was asked."""

    batch, most = 32, 2

    def __init__(self) -> None:
        self.asked: list[tuple[int, bool, bool]] = []

    def step(self) -> None:
        pass

    def loaded(
        self, workers: int, pinned: bool, non_blocking: bool, seconds: float, pause: Callable[[], None]
    ) -> list[float]:
        self.asked.append((workers, pinned, non_blocking))
        return [0.02, 0.01, 0.04]


class Loaded(Device):
    """A device whose framework has a loader."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind=kind)
        self.loader = Loader()

    def loading(self) -> Loading:
        return self.loader


@pytest.mark.usefixtures("small")
def test_without_a_gpu_the_number_of_workers_alone_is_tried() -> None:
    device = Loaded("cpu")
    done = parts(bench(device))["loading"]
    assert device.loader.asked == [(0, False, False), (2, False, False)]
    assert done.figures["2 workers"] == 32 / 0.02
    assert "step" in done.figures
    assert done.notes["batch"] == 32


def test_on_a_gpu_each_way_of_copying_is_tried() -> None:
    ways = compare._ways(True, 4)
    assert len(ways) == 12
    assert ways[:4] == [(0, False, False), (0, True, False), (0, False, True), (0, True, True)]
    assert ways[-1] == (4, True, True)


# -- two columns, by CuPy's stand-in next to NumPy -----------------------------------------------------------------


def run_of(on: Bench, **more: Any) -> SmokeRun:
    """What a worker would have reported."""
    tests = [line["result"] for line in reported(on) if "result" in line]
    for test in tests:
        test.pop("timed"), test.pop("at")
    return msgspec.convert({"outcome": "done", "stage": "done", "tests": tests, **more}, SmokeRun)


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch, small: None) -> Facts:
    """A machine on which both were measured."""
    stand_in(monkeypatch)
    cpu, gpu = bench(), bench(made())
    compare.run(cpu)
    compare.run(gpu)
    runs = (
        run_of(cpu, backend="cpu", kind="cpu", python="/own/python"),
        run_of(
            gpu, backend="cupy", kind="cuda", label="GPU 0", gpu="0000:01:00.0", name="Stand-in", python="/v/python"
        ),
    )
    measured = change(nvidia_host(), "smoke", Smoke(runs=runs, price=2.5, digits="256 rendered digits"))
    return change(change(measured, "version", "0.1.0"), "created", "2026-11-21T03:00:00Z")


def test_two_columns_next_to_each_other(both: Facts) -> None:
    report = check(None, CheckOptions(area="smoke"), both)
    (one,) = report.cpu_gpu
    assert (one.backend, one.cpu_backend, one.gpu, one.dollars_per_hour) == ("cupy", "cpu", "GPU 0", 2.5)
    assert [part.part for part in one.parts] == ["matmul", "training", "inference", "arrays"]
    for part in one.parts:
        assert all(size.cpu and size.gpu and size.speed_up for size in part.sizes)
    matmul = one.parts[0]
    assert all(size.gpu_with_copies and size.speed_up_with_copies for size in matmul.sizes)
    assert one.rate
    assert one.tflop_per_dollar == pytest.approx(one.rate * 3600 / 2.5)
    jsonschema.validate(json.loads(as_json.render(report)), REPORT)
    assert "next to NumPy on the CPU" in text.render(report)
    assert html.render(report, both).count('<svg viewBox="0 0 560 230"') == 3


def test_a_slow_gpu_is_no_finding(both: Facts) -> None:
    """The stand-in computes in NumPy, so it is no faster than that."""
    report = check(None, CheckOptions(area="smoke"), both)
    assert [found.check for found in report.findings if found.check.startswith("smoke.")] == []
    assert "with correct results" not in text.render(report)  # it proves none


@pytest.mark.timeout(120)
def test_the_bare_driver_over_a_libcuda_that_computes(libcuda: str) -> None:
    """As a whole worker, in eight seconds or on a busy machine in more: the small sizes are measured."""
    for budget in (8.0, 80.0):
        reported = worked(libcuda, "compare", {"budget": budget, "kind": "cuda"})
        found = {test.variant: test for test in reported.tests}
        if found["training"].figures:
            break
    assert {name: (test.outcome, test.message) for name, test in found.items()} == dict.fromkeys(
        ("matmul", "training", "inference"), ("done", "")
    )
    names = {figure.name for figure in found["matmul"].figures}
    assert {"time 64", "with copies 64", "sustained"} <= names
    assert {figure.name for figure in found["training"].figures} >= {"time 10"}


# -- which processes ---------------------------------------------------------------------------------------------


def jobs(facts: Facts, **choice: Any) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(job.backend, job.target.label, job.tests) for job in plan(facts, SmokeOptions(**choice))]


ONLY = ("compare",)


@pytest.mark.parametrize(
    ("facts", "choice", "wanted"),
    [
        (with_framework(TORCH), {"tests": ONLY}, [("pytorch", "CPU", ONLY), ("pytorch", "GPU 0", ONLY)]),
        # Of several GPUs the first, unless somebody names others.
        (
            with_framework(TORCH, nvidia_host(2)),
            {"tests": ONLY},
            [("pytorch", "CPU", ONLY), ("pytorch", "GPU 0", ONLY)],
        ),
        (
            with_framework(TORCH, nvidia_host(2)),
            {"tests": ONLY, "devices": ("1", "0")},
            [("pytorch", "CPU", ONLY), ("pytorch", "GPU 1", ONLY), ("pytorch", "GPU 0", ONLY)],
        ),
        (
            with_framework(TORCH, nvidia_host(2)),
            {"tests": ("matmul", "compare")},
            [
                ("pytorch", "CPU", ONLY),
                ("pytorch", "GPU 0", ("matmul", "compare")),
                ("pytorch", "GPU 1", ("matmul",)),
            ],
        ),
        # What runs on GPUs alone is compared with NumPy, which runs once.
        (with_framework(CUPY), {"tests": ONLY}, [("cpu", "CPU", ONLY), ("cupy", "GPU 0", ONLY)]),
        (nvidia_host(), {"tests": ONLY}, [("cpu", "CPU", ONLY), ("driver", "GPU 0", ONLY)]),
        (
            with_framework(CUPY),
            {"tests": ONLY, "backends": ("cupy", "driver", "cpu")},
            [("cupy", "GPU 0", ONLY), ("driver", "GPU 0", ONLY), ("cpu", "CPU", ONLY)],
        ),
        (
            with_framework(TORCH),
            {"tests": ONLY, "devices": ("cpu", "0")},
            [("pytorch", "CPU", ONLY), ("pytorch", "GPU 0", ONLY)],
        ),
        (with_framework(TORCH), {"tests": ONLY, "devices": ("cpu",)}, [("pytorch", "CPU", ONLY)]),
        (plain_host(), {"tests": ONLY, "devices": ("cpu",)}, [("cpu", "CPU", ONLY)]),
        (with_framework(TORCH), {"tests": ("matmul",)}, [("pytorch", "GPU 0", ("matmul",))]),
    ],
)
def test_the_cpu_is_measured_before_the_gpu(facts: Facts, choice: dict[str, Any], wanted: list[Any]) -> None:
    assert jobs(facts, **choice) == wanted


@pytest.mark.parametrize("price", [0.0, -1.0, float("nan"), 1e6])
def test_a_price_is_a_number_of_dollars(price: float) -> None:
    with pytest.raises(ChoiceError, match="A price is more than 0"):
        validated(SmokeOptions(tests=ONLY, price=price))


def test_a_price_belongs_to_the_comparison() -> None:
    with pytest.raises(ChoiceError, match="of use to the test compare alone"):
        validated(SmokeOptions(tests=("matmul",), price=2.5))
    assert validated(SmokeOptions(everything=True, price=2.5)).price == 2.5
