"""The figures of the smoke tests that a person reads: of each test its lines, in words, without their looks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from gpudoctor.maybe import phrase
from gpudoctor.registry import FRAMEWORKS
from gpudoctor.report.model import FigureEntry, SmokeEntry, SmokeTestEntry
from gpudoctor.report.numbers import amount, number
from gpudoctor.report.sanitize import clean

TITLES = {one.area: one.title for one in FRAMEWORKS} | {"driver": "CUDA driver", "cpu": "NumPy"}
_SHORTEST = 3  # columns of a bar
OWN_DIGITS = "rendered digits"  # those that are shipped, which need no word
WORDS = {"unsupported": "not possible", "failed": "failed", "hung": "hung", "died": "crashed", "stopped": "stopped"}
# Of each test the figures that a person reads, what each is called in the line, and which others stand beside it with
# what words; --json has them all.
Beside = tuple[tuple[str, str], ...]
SHOWN: dict[str, tuple[tuple[str, str, Beside], ...]] = {
    "matmul": (("rate", "", (("error", "error {:.0e}"), ("speed-up", "{times} times the CPU"))),),
    "mnist": (("rate", "", (("gradient error", "gradients within {:.0e}"), ("loss left", "loss falls to {:.0%}"))),),
    "transfer": tuple(
        (name, name, ()) for name in ("h2d pinned", "d2h pinned", "h2d pageable", "d2h pageable", "copy")
    ),
    "overlap": (("overlap", "", (("duplex", "both ways at once {times} times one way"),)),),
    "mixed-precision": (("gradient error", "", ()),),
    "fused": (("rate", "", (("speed-up", "{times} times single kernels"), ("compile", "compiled in {:.1f} s"))),),
    "bandwidth": tuple((name, name, ()) for name in ("copy", "triad", "read")),
    "inference": (
        ("gpu 1", "batch 1", (("speed-up 1", "{times} times the CPU"),)),
        ("gpu 256", "batch 256", (("speed-up 256", "{times} times the CPU"),)),
        ("cpu 1", "batch 1", ()),
        ("cpu 256", "batch 256", ()),
    ),
    "peer": (("rate", "", ()),),
    "allreduce": (("bus rate", "", ()),),
    "data-parallel": (("gradient error", "", (("scaling", "{times} times one GPU"),)),),
    "stress": (("rate", "", (("last third", "last third at {:.0%} of the first"),)),),
}


class SmokeRow(msgspec.Struct, frozen=True):
    """One line: what, how much, which share of the limit, and what else is known."""

    name: str
    value: str
    share: float | None
    remark: str


def title(entry: SmokeEntry) -> str:
    """What ran where: "PyTorch 2.9.1 on GPU 0 (NVIDIA H100 80GB HBM3)"."""
    name = f"{TITLES.get(entry.backend, entry.backend)} {entry.version or ''}".strip()
    return f"{name} on {entry.device}" + (f" ({entry.name})" if entry.name else "")


def remarks(entry: SmokeEntry) -> list[str]:
    """What else is to be known of a backend on a device, in a few words each."""
    spent = sum(test.seconds or 0 for test in entry.tests)
    parts = [phrase("imported in {:.1f} s", entry.import_seconds)] if (entry.import_seconds or 0) >= 0.1 else []
    parts += [f"tested in {spent:.1f} s"] if spent else []
    foreign = entry.digits and not entry.digits.endswith(OWN_DIGITS)
    parts += [f"trained on {entry.digits}"] if foreign and any(test.test == "mnist" for test in entry.tests) else []
    return parts + (["other processes use this GPU, so speeds are not judged"] if entry.busy else [])


def listed(entry: SmokeEntry) -> bool:
    """Whether it has lines of its own: what `compare` measured stands in the comparison."""
    return not entry.tests or any(test.test != "compare" or test.outcome != "done" for test in entry.tests)


def table_rows(entry: SmokeEntry) -> Iterator[SmokeRow]:
    """The lines of all tests; why one test after the other was not reached is said once."""
    reported = ""
    for test in entry.tests:
        again = test.outcome == "not reached" and test.message == reported
        reported = test.message
        for row in rows(test):
            yield msgspec.structs.replace(row, remark="") if again else row


def rows(test: SmokeTestEntry) -> Iterator[SmokeRow]:
    """The lines of a test."""
    title = f"{test.test} {test.variant}".strip()
    if test.outcome != "done":
        yield SmokeRow(title, WORDS.get(test.outcome, test.outcome), None, test.message)
        return
    figures = {figure.name: figure for figure in test.figures}
    gpu = "gpu 1" in figures or "gpu 256" in figures
    for name, label, beside in SHOWN.get(test.test, ()):
        if name in figures and not (gpu and name.startswith("cpu")):
            figure = figures[name]
            remark = _remark(test, figure, [(figures[n].value, words) for n, words in beside if n in figures])
            yield SmokeRow(f"{title} {label}".strip(), _value(figure), _share(figure), remark)


def columns(shown: Iterable[SmokeRow], width: int, longest: int) -> tuple[int, int]:
    """The room for names with their values, and for a bar, so that what is said behind a bar fits where it can.

    Args:
        shown: the lines of a table, each `  NAME VALUE  BAR  89% REMARK`.
        width: columns of the whole.
        longest: bar.
    """
    shown = tuple(shown)
    wide = max((len(clean(row.name) + clean(row.value)) + 1 for row in shown), default=0)
    room = width - wide - len("    " + " 100% ")
    remarks = [len(row.remark) for row in shown if row.share is not None and len(row.remark) <= room - _SHORTEST]
    return wide, max(_SHORTEST, min(longest, room - max(remarks, default=0)))


def _value(figure: FigureEntry) -> str:
    value, unit = figure.value, figure.unit
    if figure.name == "overlap":
        return f"{max(0.0, value):.0%}"  # noise puts it below nothing, too
    if unit == "ratio":
        return f"error {value:.1e}" if "error" in figure.name else f"{times(value)} times"
    if unit == "TFLOP/s" and value < 0.1:
        value, unit = 1000 * value, "GFLOP/s"
    return f"{amount(value)} {unit}"


def times(value: float) -> str:
    """A speed-up; a slow-down keeps two digits, so that it is not 0 times."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 1 else f"{value:.2g}"


def _share(figure: FigureEntry) -> float | None:
    return figure.value / figure.limit if figure.limit else None


def _remark(test: SmokeTestEntry, figure: FigureEntry, beside: list[tuple[float, str]]) -> str:
    """What else the person wants to see in the same line."""
    parts = [f"of {number(round(figure.limit))}"] if figure.limit else []
    parts += ["of the shorter one hidden"] if figure.name == "overlap" else []
    parts += ["worst gradient, compared with float64"] if test.test == "mixed-precision" else []
    parts += ["worst gradient, compared with one device"] if test.test == "data-parallel" else []
    parts += [words.format(value, times=times(value)) for value, words in beside]
    products, ranks = test.notes.get("products"), test.notes.get("ranks")
    parts += [phrase("{} matmuls compared", products)] if products else []
    parts += [phrase("{} ranks", ranks) + phrase(" over {}", test.notes.get("transport"))] if ranks else []
    return ", ".join(parts)
