"""`compare` with real frameworks on the CPU: all parts are measured, they train alike, and the time holds."""

import time
from collections.abc import Callable

import pytest

from gpudoctor.report.cpu_gpu import comparisons
from gpudoctor.report.model import FigureEntry, SmokeEntry, SmokeTestEntry
from tests.smoke.bench_kit import Done
from tests.smoke.xla_kit import Worked, inside, worked

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(600)]
Interpreter = Callable[..., str]

BUDGET = 60.0  # seconds, with the import: twice what a user waits for, because tests share their machine
LATE = 20.0  # seconds that a measurement which has begun, and the end of the process, may take on a busy machine
FRAMEWORKS = {
    "pytorch": ("torchcpu-numpy", "torch==2.13.0+cpu", "numpy"),
    "jax": ("jax", "jax"),
    "tensorflow": ("tensorflow-cpu", "tensorflow-cpu"),
}


@pytest.fixture(scope="module", params=FRAMEWORKS)
def found(request: pytest.FixtureRequest, interpreter: Interpreter) -> tuple[str, Worked]:
    backend = request.param
    python = interpreter(*FRAMEWORKS[backend])
    begun = time.monotonic()
    run = worked(python, backend, "compare", budget=BUDGET)
    assert time.monotonic() - begun < BUDGET + LATE
    return backend, run


def test_all_parts_are_measured(found: tuple[str, Worked]) -> None:
    backend, run = found
    parts = run["compare"]
    assert set(parts) == {"matmul", "training", "inference", *(["loading"] if backend == "pytorch" else [])}
    assert {done.outcome for done in parts.values()} == {"done"}
    assert all(value > 0 for done in parts.values() for value in done.figures.values())
    assert "time 64" in parts["matmul"].figures
    assert "rate 1" in parts["inference"].figures


def test_the_small_network_starts_from_the_same_loss_and_learns(found: tuple[str, Worked]) -> None:
    notes = found[1]["compare"]["training"].notes
    assert notes["loss_before"] == pytest.approx(2.539371, abs=1e-5)
    assert notes.get("loss_after", 0.0) < notes["loss_before"]
    assert ("loss_after" in notes) == ("not_reached" not in notes)


@pytest.mark.parametrize("backend", FRAMEWORKS)
def test_from_the_hosts_memory_and_back(backend: str, interpreter: Interpreter) -> None:
    """On a GPU alone it is measured; on the CPU it has to be right all the same."""
    lines = """
a, b = (backend.host.normal(40, 40, seed) for seed in (1, 2))
with backend.precision("fp32"):
    tell(apart(numpy.asarray(backend.round_trip(a, b)()), numpy.asarray(a) @ numpy.asarray(b)))
"""
    python = interpreter(*FRAMEWORKS[backend])
    assert inside(python, backend, lines) < 1e-5


def test_workers_load_batches(found: tuple[str, Worked]) -> None:
    backend, run = found
    if backend != "pytorch":
        pytest.skip("PyTorch alone has a DataLoader")
    done = run["compare"]["loading"]
    assert "0 workers" in done.figures
    assert "2 workers" in done.figures or "2 workers" in str(done.notes["not_reached"])


def test_the_report_has_the_cpus_column_and_says_that_there_is_no_gpu(found: tuple[str, Worked]) -> None:
    backend, run = found
    (entry,) = comparisons([entry_of(backend, list(run["compare"].values()))])
    assert (entry.backend, entry.gpu, entry.no_gpu) == (backend, None, "no GPU")
    assert all(size.cpu and size.gpu is None for part in entry.parts for size in part.sizes)
    assert entry.rate


def entry_of(backend: str, tests: list[Done]) -> SmokeEntry:
    """The report's entry of what a worker reported."""
    entries = tuple(
        SmokeTestEntry(
            test="compare",
            variant=done.variant,
            outcome="done",
            figures=tuple(
                FigureEntry(name=name, value=value, unit=done.units[name]) for name, value in done.figures.items()
            ),
            notes=done.notes,
        )
        for done in tests
    )
    return SmokeEntry(backend=backend, device="CPU", kind="cpu", python="python", outcome="done", tests=entries)
