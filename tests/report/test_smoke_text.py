"""The table of the smoke tests as a person reads it."""

import msgspec
import pytest

from gpudoctor.report.model import FigureEntry, Report, SmokeEntry, SmokeTestEntry
from gpudoctor.report.renderers.text import render
from gpudoctor.report.smoke_rows import rows, title


def figure(name: str, value: float, unit: str, limit: float | None = None) -> FigureEntry:
    return FigureEntry(name=name, value=value, unit=unit, limit=limit)


def entry_of(
    name: str, *figures: FigureEntry, variant: str = "", outcome: str = "done", message: str = ""
) -> SmokeTestEntry:
    return SmokeTestEntry(test=name, variant=variant, outcome=outcome, message=message, seconds=0.5, figures=figures)


H100 = SmokeEntry(
    backend="pytorch",
    device="GPU 0",
    kind="cuda",
    python="/opt/env/bin/python",
    outcome="done",
    version="2.13.0",
    name="NVIDIA H100 80GB HBM3",
    import_seconds=3.21,
    digits="256 rendered digits",
    tests=(
        entry_of(
            "matmul",
            figure("rate", 798.1, "TFLOP/s", 989.4),
            figure("error", 1.65e-3, "ratio"),
            figure("speed-up", 3401.0, "ratio"),
            variant="bf16",
        ),
        entry_of(
            "mnist",
            figure("rate", 51234.0, "images/s"),
            figure("gradient error", 1.9e-6, "ratio"),
            figure("loss left", 0.23, "ratio"),
        ),
        entry_of("transfer", figure("h2d pinned", 55.4, "GB/s", 63.0), figure("d2h pinned", 55.1, "GB/s", 63.0)),
        entry_of("overlap", figure("overlap", 0.93, "ratio"), figure("duplex", 1.4, "ratio")),
        entry_of("mixed-precision", figure("gradient error", 4.2e-2, "ratio"), variant="bf16"),
        entry_of("bandwidth", outcome="hung", message="It stopped responding in stage bandwidth."),
        entry_of(
            "inference",
            figure("gpu 1", 2500.0, "images/s"),
            figure("gpu 256", 410000.0, "images/s"),
            figure("cpu 256", 4100.0, "images/s"),
            figure("speed-up 256", 100.0, "ratio"),
            variant="fp32",
        ),
    ),
)
TABLE = """\
PyTorch 2.13.0 on GPU 0 (NVIDIA H100 80GB HBM3)
  imported in 3.2 s, tested in 3.5 s
  matmul bf16                 798.1 TFLOP/s  ███████    81% of 989, error 2e-03, 3,401 times the CPU
  mnist                     51,234 images/s  gradients within 2e-06, loss falls to 23%
  transfer h2d pinned             55.4 GB/s  ████████   88% of 63
  transfer d2h pinned             55.1 GB/s  ████████   87% of 63
  overlap                               93%  of the shorter one hidden, both ways at once 1.4 times
                                             one way
  mixed-precision bf16        error 4.2e-02  worst gradient, compared with float64
  bandwidth                            hung  It stopped responding in stage bandwidth.
  inference fp32 batch 1     2,500 images/s
  inference fp32 batch 256 410,000 images/s  100 times the CPU
"""


def test_the_table_has_a_line_a_figure_and_a_bar_where_a_limit_is_known() -> None:
    text = render(Report(version="0.1.0", smoke=(H100,)), 120)
    assert TABLE in text


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_no_line_of_words_is_wider_than_the_terminal_where_words_allow_it(width: int) -> None:
    lines = render(Report(version="0.1.0", smoke=(H100,)), width).splitlines()
    assert max(map(len, lines)) <= max(width, 45 + 17)


def test_a_remark_stands_beneath_its_line_where_there_is_no_room_beside_it() -> None:
    text = render(Report(version="0.1.0", smoke=(H100,)), 50)
    beneath = "  mnist                     51,234 images/s\n      gradients within 2e-06, loss falls to 23%\n"
    assert beneath in text


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        (entry_of("peer", figure("rate", 376.4, "GB/s", 450.0), variant="0-1"), ("peer 0-1", "376.4 GB/s")),
        (entry_of("fused", figure("rate", 2310.0, "GB/s"), variant="Triton"), ("fused Triton", "2,310 GB/s")),
        (entry_of("matmul", figure("rate", 0.0235, "TFLOP/s"), variant="fp32"), ("matmul fp32", "23.5 GFLOP/s")),
        (entry_of("matmul", figure("rate", 0.22, "TFLOP/s"), variant="fp32"), ("matmul fp32", "0.220 TFLOP/s")),
        (entry_of("stress", outcome="not reached"), ("stress", "not reached")),
        (entry_of("overlap", outcome="unsupported", message="There is no link."), ("overlap", "not possible")),
    ],
)
def test_values_are_written_as_their_unit_wants(entry: SmokeTestEntry, line: tuple[str, str]) -> None:
    (row,) = rows(entry)
    assert (row.name, row.value) == line


@pytest.mark.parametrize(("value", "words"), [(3401.0, "3,401"), (1.44, "1.4"), (0.043, "0.043"), (0.004, "0.004")])
def test_a_slow_down_is_not_0_times(value: float, words: str) -> None:
    entry = entry_of("matmul", figure("rate", 1.0, "TFLOP/s"), figure("speed-up", value, "ratio"))
    assert next(rows(entry)).remark == f"{words} times the CPU"


def test_noise_does_not_hide_less_than_nothing() -> None:
    assert next(rows(entry_of("overlap", figure("overlap", -0.02, "ratio")))).value == "0%"


def test_why_tests_were_not_reached_is_said_once() -> None:
    tests = (
        entry_of("matmul", outcome="stopped", message="It was late."),
        *(entry_of(name, outcome="not reached", message="It was late.") for name in ("mnist", "transfer")),
        entry_of("peer", outcome="not reached", message="The GPU died."),
    )
    text = render(Report(version="0.1.0", smoke=(msgspec.structs.replace(H100, tests=tests),)), 80)
    assert text.count("not reached") == 3
    assert (text.count("It was late."), text.count("The GPU died.")) == (1, 1)


def test_digits_are_named_where_something_was_trained_on_them() -> None:
    entry = msgspec.structs.replace(H100, digits="MNIST", tests=(entry_of("peer", figure("rate", 1.0, "GB/s")),))
    assert "trained on" not in render(Report(version="0.1.0", smoke=(entry,)), 80)


@pytest.mark.parametrize(
    ("digits", "said"),
    [
        ("256 rendered digits", ""),
        ("", ""),
        ("MNIST (Keras, verified)", "trained on MNIST (Keras, verified)"),
    ],
)
def test_other_digits_than_our_own_are_named(digits: str, said: str) -> None:
    entry = msgspec.structs.replace(H100, digits=digits)
    heading = render(Report(version="0.1.0", smoke=(entry,)), 120)
    assert ("trained on" in heading) == bool(said)
    assert said in heading


def test_on_the_cpu_its_own_speed_is_shown() -> None:
    entry = entry_of("inference", figure("cpu 1", 990.0, "images/s"), figure("cpu 256", 880.0, "images/s"))
    assert [row.name for row in rows(entry)] == ["inference batch 1", "inference batch 256"]


def test_a_backend_that_did_not_start_says_why() -> None:
    entry = SmokeEntry(
        backend="jax", device="GPU 0", kind="cuda", python="/p", outcome="unsupported", message="JAX reaches no GPU."
    )
    assert "JAX on GPU 0\n  JAX reaches no GPU.\n" in render(Report(version="0.1.0", smoke=(entry,)), 80)


def test_a_backend_of_another_version_is_called_as_the_file_calls_it() -> None:
    assert title(msgspec.structs.replace(H100, backend="mojo", version="25.1")).startswith("mojo 25.1 on GPU 0")


def test_a_busy_gpu_is_named() -> None:
    entry = SmokeEntry(backend="cpu", device="GPU 0", kind="cuda", python="/p", outcome="done", busy=True)
    assert "other processes use this GPU, so speeds are not judged" in render(
        Report(version="0.1.0", smoke=(entry,)), 80
    )


def test_names_from_a_device_never_reach_the_terminal_raw() -> None:
    entry = SmokeEntry(
        backend="cpu", device="CPU", kind="cpu", python="/p", outcome="failed", name="a\x1b[31mb", message="\x1b[2J"
    )
    text = render(Report(version="0.1.0", smoke=(entry,)), 80)
    assert "\x1b" not in text
    assert "a\\x1b[31mb" in text
