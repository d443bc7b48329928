"""The targets of the smoke test checks, and queries that several of them share."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec

from gpudoctor.check_engine import About
from gpudoctor.facts import Facts, Gpu, SmokeRun, SmokeTest
from gpudoctor.maybe import UnknownFactError, known
from gpudoctor.registry import FRAMEWORKS
from gpudoctor.targets import NAMES, gpu_key, gpu_name, gpus_of

T = TypeVar("T")

# Backends of the smoke tests: the framework's module, or a display name for those without one.
MODULES = {one.area: one.module for one in FRAMEWORKS}
PLAIN = {"driver": "the CUDA driver", "cpu": "NumPy"}
# What a test measured before it raised an error still counts; of one that died or hung, nothing does.
REPORTED = ("done", "failed")


class OnRun(msgspec.Struct, frozen=True):
    """The smoke tests of one backend on one device."""

    facts: Facts
    run: SmokeRun

    @property
    def name(self) -> str:
        """For people: "PyTorch on GPU 0"."""
        several = {r.python for r in self.facts.smoke.runs if r.backend == self.run.backend}
        where = f" in {self.run.python}" if len(several) > 1 else ""
        return f"{backend_name(self.run)}{where} on {self.run.label.replace('CPU', 'the CPU')}"

    @property
    def gpu(self) -> Gpu | None:
        """The GPU in the facts; None on the CPU, between GPUs, and where no driver lists it."""
        return next((g for g in gpus_of(self.facts) if gpu_key(g) == self.run.gpu), None)


class OnTests(msgspec.Struct, frozen=True):
    """The tests of one name in one run: one per data type, direction, or pair of GPUs."""

    facts: Facts
    run: SmokeRun
    tests: tuple[SmokeTest, ...]

    @property
    def on(self) -> OnRun:
        """The run."""
        return OnRun(self.facts, self.run)

    @property
    def name(self) -> str:
        """For people: "PyTorch on GPU 0"."""
        return self.on.name

    @property
    def gpu(self) -> Gpu | None:
        """The GPU in the facts."""
        return self.on.gpu


class OnDevice(msgspec.Struct, frozen=True):
    """One GPU with all runs that it was part of."""

    facts: Facts
    gpu: Gpu
    runs: tuple[SmokeRun, ...]

    @property
    def name(self) -> str:
        """For people: "GPU 0 (NVIDIA GeForce RTX 4090)"."""
        return gpu_name(self.gpu)

    @property
    def tests(self) -> tuple[SmokeTest, ...]:
        """All tests that ran on it."""
        return tuple(test for run in self.runs for test in run.tests)


def backend_name(run: SmokeRun) -> str:
    """For people: "PyTorch", "the CUDA driver"."""
    return PLAIN.get(run.backend) or NAMES.get(MODULES.get(run.backend, run.backend), run.backend)


def sentence(text: str) -> str:
    """The text with its first letter capitalized."""
    return text[:1].upper() + text[1:]


def many(number: int, thing: str) -> str:
    """A number of things: "1 element", "3 elements"."""
    return f"{number} {thing}{'s' * (number != 1)}"


def quoted(message: str) -> str:
    """The last line of an error message, with a period."""
    lines = message.strip().splitlines() or ["no error message"]
    return lines[-1].rstrip(". ") + "."


# -- targets -------------------------------------------------------------------------------------------------


def smoke_runs(facts: Facts) -> Iterator[tuple[About, OnRun]]:
    """Each backend on each device; a GPU's problem explains nothing about the CPU."""
    for run in facts.smoke.runs:
        on, module = OnRun(facts, run), MODULES.get(run.backend, run.backend)
        gpu = "cpu" if run.kind == "cpu" else run.gpu
        package = module if module in NAMES else None
        yield About(label=on.name, gpu=gpu, python=run.python or None, package=package), on


def gpu_runs(facts: Facts) -> Iterator[tuple[About, OnRun]]:
    """Each backend on each GPU."""
    yield from ((about, on) for about, on in smoke_runs(facts) if on.run.kind != "cpu")


def smoke_gpus(facts: Facts) -> Iterator[tuple[About, OnDevice]]:
    """Each GPU that a driver lists and that was tested: hardware counters belong to no framework."""
    for gpu in gpus_of(facts):
        key = gpu_key(gpu)
        runs = tuple(run for run in facts.smoke.runs if run.gpu == key and run.kind != "cpu")
        if runs:
            yield About(label=f"GPU {gpu.index}", gpu=key), OnDevice(facts, gpu, runs)


def smoke_tests(facts: Facts, name: str, figure: str = "") -> Iterator[tuple[About, OnTests]]:
    """The tests that reported results, by run.

    Args:
        facts: of the machine.
        name: of the tests; several with blanks between.
        figure: only tests that measured it; empty: all.
    """
    for about, on in smoke_runs(facts):
        tests = tuple(
            t
            for t in on.run.tests
            if t.name in name.split() and t.outcome in REPORTED and (not figure or t.figure(figure) is not None)
        )
        if tests:
            yield about, OnTests(facts, on.run, tests)


def gpu_tests(facts: Facts, name: str, figure: str = "") -> Iterator[tuple[About, OnTests]]:
    """The same without the runs on the CPU."""
    yield from ((about, on) for about, on in smoke_tests(facts, name, figure) if on.run.kind != "cpu")


def cuda_tests(facts: Facts, name: str, figure: str = "") -> Iterator[tuple[About, OnTests]]:
    """The same, only on NVIDIA GPUs."""
    yield from ((about, on) for about, on in smoke_tests(facts, name, figure) if on.run.kind == "cuda")


# -- queries -------------------------------------------------------------------------------------------------


def noted(test: SmokeTest, name: str) -> float | None:
    """A number among the notes of a test; None where it is not there, or no number."""
    value = test.notes.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def count(test: SmokeTest, *names: str) -> int:
    """The sum of counts among the notes: of wrong elements, of differing bytes."""
    return int(sum(noted(test, name) or 0 for name in names))


def dtype_of(test: SmokeTest) -> str:
    """The data type of a test: its variant, else a note."""
    note = test.notes.get("dtype")
    return test.variant or (note if isinstance(note, str) else "")


def called(test: SmokeTest) -> str:
    """A test for people: "matmul bf16"."""
    return f"{test.name} {test.variant}".strip()


def each(tests: Iterable[SmokeTest], judge: Callable[[SmokeTest], T | None]) -> tuple[T, ...]:
    """The problems of some tests: one that cannot be judged does not hide another's problem.

    Raises:
        UnknownFactError: none has a known problem, and one could not be judged.
    """
    problems: list[T] = []
    unknown = None
    for test in tests:
        try:
            found = judge(test)
        except UnknownFactError as error:
            unknown = unknown or error
        else:
            problems += [] if found is None else [found]
    if unknown and not problems:
        raise unknown
    return tuple(problems)


def ended(run: SmokeRun, *outcomes: str) -> tuple[SmokeTest, ...]:
    """The tests of a run that ended in one of these ways."""
    return tuple(t for t in run.tests if t.outcome in outcomes)


def growth(tests: Iterable[SmokeTest], counter: str) -> tuple[int, tuple[SmokeTest, ...]]:
    """By how much a counter of the GPU (ecc_corrected, pcie_replays) grew, and in which tests.

    Raises:
        UnknownFactError: it grew in none, and could not be read in all; a GPU without it counts as well.
    """
    ran = (test for test in tests if test.outcome not in ("unsupported", "not reached"))
    grown = each(ran, lambda test: _grown(test, counter))
    return sum(number for number, _ in grown), tuple(test for _, test in grown)


def _grown(test: SmokeTest, counter: str) -> tuple[int, SmokeTest] | None:
    number = known(getattr(test.during, counter))
    return (number, test) if number else None
