"""Copies: what is told on the CPU and over a link, which memory is asked for, and that a fault shows."""

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.workers.smoke import cpu_affinity
from gpudoctor.workers.smoke.backends.cpu import CpuCopies
from gpudoctor.workers.smoke.runner import Unsupported
from gpudoctor.workers.smoke.tests import transfer
from tests.smoke.bench_kit import Device, Done, bench, results

MIB = 1 << 20
CLEAN = {"differing": 0, "pieces_differing": 0}


class Link(Device):
    """A device whose host memory can be pinned up to a limit; the copies may be ill."""

    most: int = 1 << 40
    copies: type[CpuCopies] = CpuCopies
    refusal: Exception | None = None
    asked: list[tuple[int, bool]]

    def transfer(self, size: int, pinned: bool) -> CpuCopies:
        self.asked = [*getattr(self, "asked", []), (size, pinned)]
        if pinned and size > self.most:
            raise self.refusal or MemoryError("cudaErrorMemoryAllocation: out of memory")
        made = self.copies(self.numpy, size)
        made.pinned = pinned
        return made


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies small enough for a test, and no waiting for a link to train up."""
    monkeypatch.setattr(transfer, "LARGE", 16 * MIB)
    monkeypatch.setattr(transfer, "ON_CPU", 4 * MIB)
    monkeypatch.setattr(transfer, "TRIES", (8 * MIB, 4 * MIB))
    monkeypatch.setattr(transfer, "WARM_SECONDS", 0.0)


def one(backend: Any = None, **task: Any) -> Done:
    (done,) = results(transfer.run, bench(backend, **task))
    return done


def test_on_the_cpu_one_rate() -> None:
    done = one()
    assert (done.outcome, set(done.figures), done.units) == ("done", {"copy"}, {"copy": "GB/s"})
    assert done.notes == {**CLEAN, "affinity": None, "size": 4 * MIB, "pinned": None, "pinned_refused": None}
    assert len(done.samples["copy"]) == 5


def test_over_a_link_four_rates() -> None:
    done = one(Link())
    assert list(done.figures) == ["h2d pinned", "d2h pinned", "h2d pageable", "d2h pageable"]
    assert done.notes.items() >= {**CLEAN, "size": 16 * MIB, "pinned": True, "pinned_refused": None}.items()
    assert [len(samples) for samples in done.samples.values()] == [3, 3, 5, 5]
    assert len(done.result["timed"]) == 4


def test_sixteen_copies_make_a_sample_however_many_are_queued_together() -> None:
    queued: list[int] = []

    class Slow(Link):
        def elapsed(self, call: Any, times: int) -> float:
            queued.append(times)
            call()
            return 0.02  # so that two fill the twentieth of a second after which a run can be ended

    one(Slow())
    assert queued[:4] == [1, 1, 1, 1]
    assert queued[4:28] == [2] * 24


def test_less_is_pinned_where_much_is_refused() -> None:
    link = Link(most=8 * MIB)
    done = one(link)
    assert link.asked == [(16 * MIB, True), (8 * MIB, True), (8 * MIB, False)]
    assert (done.notes["size"], done.notes["pinned"], done.notes["pinned_refused"]) == (8 * MIB, True, None)


@pytest.mark.parametrize(
    ("refusal", "why"),
    [
        (None, "Not even 4 MiB of host memory can be pinned: cudaErrorMemoryAllocation: out of memory"),
        (
            RuntimeError("CUDA error: OS call failed or operation not supported on this OS"),
            "Not even 4 MiB of host memory can be pinned: CUDA error: OS call failed or operation not supported on "
            "this OS",
        ),
        (Unsupported("Nobody can say which memory is used."), "Nobody can say which memory is used."),
    ],
)
def test_without_pinned_memory_the_pageable_is_measured(refusal: Exception | None, why: str) -> None:
    done = one(Link(most=0, refusal=refusal))
    assert (done.outcome, list(done.figures)) == ("done", ["h2d pageable", "d2h pageable"])
    assert done.notes.items() >= {**CLEAN, "size": 16 * MIB, "pinned": None, "pinned_refused": why}.items()


def test_another_error_is_the_tests() -> None:
    done = one(Link(most=0, refusal=AttributeError("no such thing")))
    assert (done.outcome, done.message) == ("failed", "AttributeError: no such thing")


def test_pinned_alone() -> None:
    class PinnedOnly(Link):
        def transfer(self, size: int, pinned: bool) -> CpuCopies:
            if not pinned:
                raise Unsupported("There is no pageable memory.")
            return super().transfer(size, pinned)

    done = one(PinnedOnly())
    assert (done.outcome, list(done.figures)) == ("done", ["h2d pinned", "d2h pinned"])
    assert done.notes["differing"] == 0


def test_neither_memory() -> None:
    class Neither(Device):
        def transfer(self, size: int, pinned: bool) -> CpuCopies:
            raise Unsupported("It has no copies.")

    done = one(Neither())
    assert (done.outcome, done.message) == ("unsupported", "It has no copies.")


@pytest.mark.parametrize(
    ("room", "size"), [(8 << 30, 256 * MIB), (2 << 30, 256 * MIB), (1 << 30, 64 * MIB), (300 * MIB, 22 * MIB)]
)
def test_the_buffer_fits_the_memory(room: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "LARGE", 256 * MIB)
    assert transfer.buffer(bench(Device(room=room))) == size


def test_too_little_memory() -> None:
    done = one(Link(room=260 * MIB))
    assert (done.outcome, done.result["error"]) == ("failed", "out-of-memory")


class LostBack(CpuCopies):
    """The copy back never happens."""

    def to_host(self) -> None:
        pass


class OneBit(CpuCopies):
    """A bit flips on the way back."""

    def to_host(self) -> None:
        super().to_host()
        self.target[1234567] ^= 16


class Misaligned(CpuCopies):
    """Pieces at odd offsets arrive a byte later."""

    def piece(self, offset: int, length: int) -> int:
        if offset % 2 == 0:
            return super().piece(offset, length)
        self.target[offset + 1 : offset + length] = self.source[offset : offset + length - 1]
        return int((self.source[offset : offset + length] != self.target[offset : offset + length]).sum())


class LostPieces(CpuCopies):
    """Pieces do not arrive."""

    def piece(self, offset: int, length: int) -> int:
        part = slice(offset, offset + length)
        return int((self.source[part] != self.target[part]).sum())


@pytest.mark.parametrize(
    ("copies", "differing", "pieces"),
    [
        (LostBack, (2 * 16 * MIB * 0.99, 2 * 16 * MIB), (0, 0)),
        (OneBit, (2, 2), (0, 0)),
        (Misaligned, (0, 0), (1e6, 3e6)),
        (LostPieces, (0, 0), (2e6, 3e6)),
    ],
)
def test_a_fault_shows(copies: type[CpuCopies], differing: tuple[float, float], pieces: tuple[float, float]) -> None:
    done = one(Link(copies=copies))
    assert differing[0] <= done.notes["differing"] <= differing[1]
    assert pieces[0] <= done.notes["pieces_differing"] <= pieces[1]


def test_pieces_are_apart_so_that_none_hides_the_loss_of_another() -> None:
    pieces = sorted([*transfer.PIECES, (transfer.TRIES[-1] - 4097, 4097)])
    assert all(first + length <= second for (first, length), (second, _) in pairwise(pieces))
    assert any(offset % 2 for offset, _ in pieces)
    assert any(length % 2 for _, length in pieces)


# -- the CPUs beside the GPU ------------------------------------------------------------------------------------


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """The choices of CPUs that are made, of a process that may use the CPUs 0 to 7."""
    made: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cpus: made.append(set(cpus)), raising=False)
    return made


def affinity(tmp_path: Path, text: str | None, **task: Any) -> Any:
    """The note, where the kernel says this of the device 0000:17:00.0."""
    if text is not None:
        (tmp_path / "0000:17:00.0").write_text(text)
    on = bench(Link(), address="0000:17:00.0", **task)
    with on.test("transfer"), cpu_affinity.near(on, f"{tmp_path}/%s"):
        pass
    return on._result["notes"]["affinity"]


def test_the_process_goes_to_the_gpus_cpus_and_comes_back(tmp_path: Path, chosen: list[set[int]]) -> None:
    assert affinity(tmp_path, "4-7,12-15\n") is None
    assert chosen == [{4, 5, 6, 7}, set(range(8))]


def test_it_comes_back_after_an_error(tmp_path: Path, chosen: list[set[int]]) -> None:
    (tmp_path / "here").write_text("0-1")
    on = bench(Link(), address="here")
    with on.test("transfer"), cpu_affinity.near(on, f"{tmp_path}/%s"):
        raise ValueError
    assert chosen == [{0, 1}, set(range(8))]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("8-11", "This process may use none of the CPUs local to the GPU (8,9,10,11)."),
        (None, "/0000:17:00.0 cannot be read: No such file or directory."),
        ("", "/0000:17:00.0 names no CPU."),
        ("first", "/0000:17:00.0 is not a list of CPUs."),
    ],
)
def test_why_it_does_not_go(tmp_path: Path, chosen: list[set[int]], text: str | None, why: str) -> None:
    assert affinity(tmp_path, text).removeprefix(str(tmp_path)) == why
    assert chosen == []


def test_a_place_that_nobody_knows(chosen: list[set[int]]) -> None:
    assert one(Link()).notes["affinity"] == "The GPU's PCI address is unknown."
    assert chosen == []


def test_a_system_that_refuses(tmp_path: Path, chosen: list[set[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setaffinity", refuse, raising=False)
    why = affinity(tmp_path, "0-3")
    assert why == "CPU affinity cannot be set: Operation not permitted."


@pytest.mark.parametrize(("text", "found"), [("0\n", {0}), ("0-2,5", {0, 1, 2, 5}), ("", set())])
def test_lists_of_cpus(text: str, found: set[int]) -> None:
    assert cpu_affinity.cpus(text) == found
