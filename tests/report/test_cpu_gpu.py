"""The GPU next to the CPU: from where it pays off, which batch is enough, what a watt and a dollar bring, in words."""

from typing import Any

import msgspec
import pytest

from gpudoctor.report.cpu_gpu import Crossing, comparisons, crossing, knee
from gpudoctor.report.cpu_gpu_model import CpuGpuEntry
from gpudoctor.report.cpu_gpu_plot import plot, power
from gpudoctor.report.cpu_gpu_words import aligned, table, title, value
from gpudoctor.report.model import FigureEntry, Report, SmokeEntry, SmokeTestEntry
from gpudoctor.report.renderers import html, markdown, text

SIZES = (64, 256, 1024, 4096)
# Of an H100 and 16 cores of its host, to the order of magnitude: a launch takes some 10 us, a copy 8 GB/s.
CPU_MATMUL = {f"time {n}": 2 * n**3 / 8e11 + 4e-6 for n in SIZES}
GPU_MATMUL = {f"time {n}": 2 * n**3 / 5e13 + 9e-6 for n in SIZES} | {
    f"with copies {n}": 2 * n**3 / 5e13 + 6e-5 + 12 * n * n / 8e9 for n in SIZES
}
LOADED = {
    "0 workers": 600.0,
    "0 workers, pinned, non-blocking": 610.0,
    "8 workers": 4000.0,
    "8 workers, pinned, non-blocking": 5000.0,
}


def part(name: str, figures: dict[str, float], power: Any = None, **notes: Any) -> SmokeTestEntry:
    found = tuple(FigureEntry(name=figure, value=value, unit="") for figure, value in figures.items())
    during = {} if power is None else {"power": power}
    return SmokeTestEntry(
        test="compare", variant=name, outcome="done", seconds=5.0, figures=found, notes=notes, during=during
    )


def cpu(*parts: SmokeTestEntry, backend: str = "pytorch") -> SmokeEntry:
    return SmokeEntry(
        backend=backend, device="CPU", kind="cpu", python="/v/bin/python", outcome="done", name="EPYC", tests=parts
    )


def gpu(*parts: SmokeTestEntry, backend: str = "pytorch", **more: Any) -> SmokeEntry:
    entry = SmokeEntry(
        backend=backend, device="GPU 0", kind="cuda", python="/v/bin/python", outcome="done", name="H100", tests=parts
    )
    return msgspec.structs.replace(entry, **more)


def compared(*entries: SmokeEntry, price: float | None = None) -> CpuGpuEntry:
    (one,) = comparisons(entries, price)
    return one


# -- the numbers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("speed_ups", "found"),
    [
        ([], None),
        ([(64, 0.5), (128, 0.9), (256, 3.0), (512, 9.0)], Crossing(256, 128, 512, 9.0)),
        ([(64, 2.0), (128, 3.0)], Crossing(64, None, 128, 3.0)),
        ([(64, 0.2), (128, 0.3)], Crossing(None, 128, 128, 0.3)),
        ([(64, 0.2), (128, 1.0)], Crossing(None, 128, 128, 1.0)),
        # Faster once by chance, and slower again: it pays off only from where it stays so.
        ([(64, 1.1), (128, 0.8), (256, 3.0)], Crossing(256, 128, 256, 3.0)),
        ([(64, 3.0)], Crossing(64, None, 64, 3.0)),
    ],
)
def test_the_size_from_which_the_gpu_stays_faster(speed_ups: list[tuple[int, float]], found: Crossing | None) -> None:
    assert crossing(speed_ups) == found


@pytest.mark.parametrize(
    ("rates", "found"),
    [
        ([], None),
        ([(1, 10.0)], 1),
        ([(1, 10.0), (4, 40.0), (16, 90.0), (64, 100.0)], 16),
        ([(1, 10.0), (4, 40.0), (16, 89.9), (64, 100.0)], 64),
        ([(1, 10.0), (4, 100.0), (16, 80.0)], 4),
    ],
)
def test_the_smallest_batch_within_a_tenth_of_the_best(rates: list[tuple[int, float]], found: int | None) -> None:
    assert knee(rates) == found


def test_a_watt_and_a_dollar() -> None:
    inference = part("inference", {"rate 1": 10.0, "rate 64": 1000.0})
    measured = gpu(part("matmul", GPU_MATMUL | {"sustained": 50.0}, power=500.0), inference)
    found = compared(cpu(part("matmul", CPU_MATMUL)), measured, price=2.5)
    assert (found.rate, found.power, found.tflops_per_watt) == (50.0, 500.0, 0.1)
    assert (found.tflop_per_dollar, found.images_per_dollar) == (50.0 * 3600 / 2.5, 1000.0 * 3600 / 2.5)
    assert "50.0 TFLOP/s in fp32 at 500 W: 0.100 TFLOP/s per watt." in found.summary
    sentence = "At $2.50 per hour a dollar buys 72,000 TFLOP of fp32 matmul, or 1,440,000 images of inference."
    assert sentence in found.summary


@pytest.mark.parametrize("power", [None, {"unknown": "Not Supported"}, 0.0])
def test_without_power_there_is_no_figure_per_watt(power: Any) -> None:
    found = compared(gpu(part("matmul", GPU_MATMUL | {"sustained": 50.0}, power=power)))
    assert (found.power, found.tflops_per_watt, found.tflop_per_dollar) == (None, None, None)
    assert "50.0 TFLOP/s in fp32. The driver reported no power, so there is no figure per watt." in found.summary


def test_of_a_cpu_alone_the_dollar_counts_too() -> None:
    found = compared(cpu(part("matmul", {"time 1024": 2e-12 * 1024**3})), price=0.5)
    assert found.rate == pytest.approx(1.0)
    assert found.tflop_per_dollar == pytest.approx(7200.0)
    assert found.gpu is None
    assert found.tflops_per_watt is None
    assert "At $0.50 per hour a dollar buys 7,200 TFLOP of fp32 matmul, on the CPU." in found.summary


# -- which is next to which --------------------------------------------------------------------------------------


def test_what_runs_on_gpus_alone_is_next_to_numpy() -> None:
    numpy, torch = cpu(part("matmul", CPU_MATMUL), backend="cpu"), cpu(part("matmul", CPU_MATMUL))
    cupy = gpu(part("matmul", GPU_MATMUL), backend="cupy")
    found = comparisons([torch, gpu(part("matmul", GPU_MATMUL)), numpy, cupy])
    assert [(one.backend, one.cpu_backend, one.gpu) for one in found] == [
        ("pytorch", "pytorch", "GPU 0"),
        ("cupy", "cpu", "GPU 0"),
    ]
    assert title(found[1]) == "CuPy: GPU 0 (H100) next to NumPy on the CPU (EPYC)"


def test_without_a_gpu_its_column_says_so() -> None:
    found = compared(cpu(part("matmul", CPU_MATMUL)))
    assert found.no_gpu == "no GPU"
    assert title(found) == "PyTorch: the CPU (EPYC), no GPU"
    assert [row[2] for row in table(found, found.parts[0])] == ["GPU", *["no GPU"] * 4]
    assert "Without a GPU there is nothing to compare: these are the CPU's times alone." in found.summary
    assert found.parts[0].pays_from is None


def test_a_framework_that_reaches_no_gpu_says_why() -> None:
    why = "PyTorch reaches no GPU: Torch not compiled with CUDA enabled."
    found = compared(cpu(part("matmul", CPU_MATMUL)), gpu(outcome="unsupported", message=why))
    assert (found.gpu, found.no_gpu) == ("GPU 0", why)
    assert found.summary == (f"Nothing was measured on GPU 0: {why}",)
    assert {row[2] for row in table(found, found.parts[0])[1:]} == {"not measured"}


def test_other_smoke_tests_are_not_compared() -> None:
    other = SmokeTestEntry(test="matmul", variant="fp32", outcome="done")
    assert comparisons([cpu(other), gpu(other)]) == ()


# -- sentences ---------------------------------------------------------------------------------------------------


def sentences(name: str, one: dict[str, float], other: dict[str, float], **notes: Any) -> list[str]:
    found = compared(cpu(part(name, one)), gpu(part(name, other, **notes)))
    (only,) = found.parts
    return list(only.summary)


def test_a_matmul_pays_off_later_where_its_data_has_to_come_first() -> None:
    copied, resident = sentences("matmul", CPU_MATMUL, GPU_MATMUL)
    assert copied == (
        "With copies, at N=256 the CPU is still faster: transfer and launch cost more than the work. From N=1,024 on "
        "the GPU pays off: 6.1 times the CPU's speed at N=4,096."
    )
    assert resident == (
        "With the data on the GPU, at N=64 the CPU is still faster: launching a kernel costs more than the work in "
        "it. From N=256 on the GPU pays off: 62 times the CPU's speed at N=4,096."
    )


def test_a_gpu_that_is_slower_in_training_is_a_fact_with_its_reason() -> None:
    (only,) = sentences("training", {"time 10": 0.01, "time 10000": 0.02}, {"time 10": 0.03, "time 10000": 0.04})
    assert only == (
        "The GPU does not pay off up to 10,000 samples per step (0.5 times the CPU's speed at 10,000 samples per "
        "step): a step launches dozens of small kernels, which costs more than the work in them."
    )


def test_the_batch_that_is_enough_and_one_that_is_not() -> None:
    flat = {"rate 1": 50.0, "rate 4": 95.0, "rate 16": 100.0}
    rising = {"rate 1": 100.0, "rate 4": 400.0, "rate 16": 1600.0}
    assert sentences("inference", flat, rising) == [
        "The GPU is faster at every measured size: 16 times the CPU's speed at batch 16.",
        "CPU: batch 4 is enough: it is the smallest within 10% of the best, 100.0 images/s.",
        "GPU: 1,600 images/s, and throughput still rises at batch 16, the largest measured.",
    ]


def test_arrays_that_are_faster_and_slower() -> None:
    assert sentences("arrays", {"matmul": 0.01, "sum": 1e-5}, {"matmul": 0.0005, "sum": 2e-5}) == [
        "Faster on the GPU: matmul (20 times).",
        "Slower on the GPU: sum (0.5 times): too little work for a kernel launch.",
    ]


def test_what_was_not_reached_is_said() -> None:
    (only,) = compared(cpu(part("matmul", CPU_MATMUL, not_reached="2048, 4096"))).parts
    assert only.summary == ("Not reached on the CPU within its 30 s: N 2,048, 4,096.",)
    assert only.not_reached_cpu == "2048, 4096"
    (only,) = compared(gpu(part("matmul", GPU_MATMUL, no_room="4096"))).parts
    assert only.summary == ("Too little free memory on the GPU: N 4,096.",)


@pytest.mark.parametrize(
    ("step", "wanted"),
    [
        # 32 images in 6.4 ms at best, of which the step takes 0.6 ms.
        (
            0.0006,
            "The GPU waits for data 91% of the time, even with 8 workers, pinned, non-blocking: the CPU prepares "
            "samples too slowly. Decode on the GPU, prepare samples once and store them, or use more cores.",
        ),
        (
            0.0061,
            "With 8 workers, pinned, non-blocking the GPU hardly waits: it computes 95% of the time.",
        ),
    ],
)
def test_what_keeps_the_gpu_waiting(step: float, wanted: str) -> None:
    found = sentences("loading", {}, {"step": step, **LOADED}, batch=32)
    assert found == [
        wanted,
        "8 workers instead of 0: 8.2 times as fast.",
        "pin_memory with non_blocking at 8 workers: 1.2 times as fast.",
    ]


def test_pinned_memory_that_makes_no_difference() -> None:
    rates = {"0 workers": 100.0, "0 workers, pinned, non-blocking": 101.0}
    assert sentences("loading", {}, {"step": 0.3, **rates}, batch=32)[-1] == (
        "pin_memory with non_blocking at 0 workers: no difference here."
    )


def test_without_a_gpu_workers_alone_are_compared() -> None:
    (only,) = compared(cpu(part("loading", {"step": 0.1, "0 workers": 100.0, "2 workers": 150.0}, batch=32))).parts
    assert only.summary == (
        "Fastest: 2 workers. Without a GPU the workers share the CPU with the training step.",
        "2 workers instead of 0: 1.5 times as fast.",
    )
    assert [size.computing for size in only.sizes] == [pytest.approx(0.3125), pytest.approx(0.46875)]


def test_without_shared_memory_workers_are_not_tried() -> None:
    alone = {"step": 0.1, "0 workers": 100.0}
    found = sentences("loading", alone, alone, batch=32, no_room="workers")
    assert found[-1] == (
        "Workers were not tried: /dev/shm is missing or nearly full. In a container, set --shm-size=1g."
    )


def test_a_busy_cpu_and_a_busy_gpu_are_said() -> None:
    measured = part("matmul", CPU_MATMUL, load=9.0, cores=2)
    found = compared(cpu(measured), gpu(part("matmul", GPU_MATMUL), busy=True))
    assert "Other programs used the CPU (load 9.0 on 2 cores), so its times are too long." in found.summary
    assert "Other processes use this GPU, so its times are too long." in found.summary


@pytest.mark.parametrize(
    ("number", "unit", "words"),
    [
        (2.0, "s", "2.00 s"),
        (0.0123, "s", "12.3 ms"),
        (4.5e-6, "s", "4.50 us"),
        (1234.0, "images/s", "1,234 images/s"),
    ],
)
def test_seconds_as_people_say_them(number: float, unit: str, words: str) -> None:
    assert value(number, unit) == words


# -- faces -------------------------------------------------------------------------------------------------------

WHOLE = (
    cpu(
        part("matmul", CPU_MATMUL),
        part("training", {"time 10": 0.0128, "time 10000": 0.812}),
        part("inference", {"rate 1": 5500.0, "rate 64": 31000.0}),
        part("loading", {"step": 0.02, "0 workers": 500.0}, batch=32),
    ),
    gpu(
        part("matmul", GPU_MATMUL | {"sustained": 51.3}, power=612.0),
        part("training", {"time 10": 0.026, "time 10000": 0.03}),
        part("inference", {"rate 1": 14000.0, "rate 64": 820000.0}),
        part("loading", {"step": 0.0012, **LOADED}, batch=32),
    ),
)


def whole() -> Report:
    return Report(version="0.1.0", status="pass", smoke=WHOLE, cpu_gpu=comparisons(WHOLE, 2.5))


TABLE = """\
  Matmul N x N, fp32
    N           CPU      GPU    speed-up  with copies    speed-up
    64      4.66 us  9.01 us  0.52 times      66.2 us  0.07 times
    256     45.9 us  9.67 us   4.8 times     159.0 us  0.29 times
    1,024   2.69 ms  51.9 us    52 times      1.68 ms   1.6 times
    4,096  171.8 ms  2.76 ms    62 times      28.0 ms   6.1 times
"""


def test_the_text_has_a_table_for_each_kind_of_work() -> None:
    found = text.render(whole(), 80)
    assert TABLE in found
    assert "PyTorch on CPU" not in found  # what compare measured stands in the comparison alone
    assert max(map(len, found.splitlines())) <= 80
    assert "Bars" not in found


def test_the_markdown_has_it_too() -> None:
    assert TABLE in markdown.render(whole())


def test_the_page_draws_a_line_for_each_device() -> None:
    page = html.render(whole())
    assert page.count('<svg viewBox="0 0 560 230"') == 3
    assert page.count('class="curve cpu"') == page.count('class="curve gpu"') == 6  # each with its key
    assert page.count('class="curve copied"') == 2
    assert page.count("GPU pays off from here") == 2  # inference: everywhere, so nowhere in particular
    assert '<th scope="col">with copies</th>' in page


def test_the_scale_is_in_powers_of_ten() -> None:
    drawn = plot(whole().cpu_gpu[0].parts[0])
    assert drawn is not None
    assert (drawn.low, drawn.high) == (-3, 2)
    assert drawn.height(1.0) == pytest.approx(0.6)
    assert [power(one) for one in (-3, 0, 2, 5, 7)] == ["0.001", "1", "100", "100,000", "1e7"]


def test_nothing_measured_is_nothing_drawn() -> None:
    entry = cpu(part("matmul", {}, not_reached="64"), part("arrays", {"sum": 1e-5}))
    found = compared(entry)
    assert [plot(one) for one in found.parts] == [None, None]
    report = Report(version="0.1.0", smoke=(entry,), cpu_gpu=(found,))
    assert "Not reached on the CPU within its 30 s: N 64." in text.render(report)
    assert "<svg" not in html.render(report)


def test_columns_stand_beneath_each_other() -> None:
    assert aligned([("N", "CPU"), ("64", "1.5 ms"), ("4,096", "2 s")]) == [
        "N         CPU",
        "64     1.5 ms",
        "4,096     2 s",
    ]
