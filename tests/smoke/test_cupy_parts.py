"""What CuPy's backend copies, compiles and sums, on a stand-in: it arrives, and a fault shows."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from gpudoctor.workers.smoke.backends import cupy_kernels
from gpudoctor.workers.smoke.runner import Unsupported
from gpudoctor.workers.smoke.tests import transfer
from tests.smoke.bench_kit import bench, results
from tests.smoke.cupy_kit import KIB, MIB, made, stand_in


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    return stand_in(monkeypatch)


# -- copies -------------------------------------------------------------------------------------------------------


def test_copies_arrive(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "LARGE", 4 * MIB)
    monkeypatch.setattr(transfer, "WARM_SECONDS", 0.0)
    (done,) = results(transfer.run, bench(made()))
    assert (done.outcome, done.notes["pinned"]) == ("done", True)
    assert (done.notes["differing"], done.notes["pieces_differing"]) == (0, 0)
    assert len(done.figures) == 4


def test_the_driver_says_whether_memory_is_pinned(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = made()
    assert (backend.transfer(KIB, True).pinned, backend.transfer(KIB, False).pinned) == (True, False)
    cupy.STATE.pinned.clear()
    monkeypatch.setattr(cupy.runtime, "pointerGetAttributes", lambda _: SimpleNamespace(type=0))
    assert backend.transfer(KIB, True).pinned is False
    monkeypatch.setattr(cupy.runtime, "is_hip", True)
    assert backend.transfer(KIB, True).pinned is None


def test_too_much_to_pin(cupy: Any) -> None:
    cupy.STATE.pinnable = MIB
    with pytest.raises(MemoryError, match=r"^2 MiB cannot be pinned: cudaErrorMemoryAllocation: out of memory$"):
        made().transfer(2 * MIB, True)


def test_a_lost_copy_shows(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = made()
    copies = backend.transfer(64 * KIB, True)
    copies.fill(1)
    copies.clear()
    monkeypatch.setattr(cupy.runtime, "memcpyAsync", lambda *_: None)
    copies.to_device()
    copies.to_host()
    assert copies.differing() == pytest.approx(64 * KIB, rel=0.01)
    assert copies.piece(11, 4096) > 4000


def test_streams_keep_their_order(cupy: Any) -> None:
    assert made().overlap(64 * KIB).ordered() == 0


def test_a_stream_that_does_not_wait_shows(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy.Stream, "wait_event", lambda *_: None)
    assert made().overlap(64 * KIB).ordered() > 60 * KIB


def test_each_direction_and_the_products_have_a_stream(cupy: Any) -> None:
    beside = made().overlap(KIB)
    beside.copy()
    beside.copy_back()
    queues = [len(stream.queue) for stream in (beside.there_goes, beside.here_comes, beside.computing)]  # type: ignore[attr-defined]
    assert queues == [1, 1, 0]
    beside.compute(2)
    beside.wait()
    assert (beside.there.get() == beside.source).all()  # type: ignore[attr-defined]
    assert float(abs(beside.product).max()) > 1  # type: ignore[attr-defined]


# -- vectors and kernels ------------------------------------------------------------------------------------------


def test_vectors(cupy: Any) -> None:
    vectors = made().vectors(5000)
    assert vectors.wrong() > 9900
    vectors.copy()
    vectors.triad()
    vectors.read()
    assert (vectors.wrong(), vectors.triad_bytes) == (0, 3)
    vectors.z[7] += 1  # type: ignore[attr-defined]
    vectors.y[8] += 1  # type: ignore[attr-defined]
    assert vectors.wrong() == 2


def test_both_ways_of_compiling(cupy: Any) -> None:
    ways = made().fused(10000)
    assert [way.way for way in ways] == ["ElementwiseKernel", "fuse"]
    for way in ways:
        way.compile()
        assert way.error() < 1e-6
        assert way.compile_seconds > 0
        way.eager()


def test_a_kernel_that_computes_something_else_shows(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    by_hand, traced = made().fused(10000)
    monkeypatch.setattr(cupy_kernels, "GELU", (*cupy_kernels.GELU[:2], "y = 1.5f * x", "wrong"))
    monkeypatch.setattr(cupy_kernels, "B", 0.0)
    for way in (by_hand, traced):
        way.compile()
        assert way.error() > 0.1


def test_a_kernel_that_never_ran_shows(cupy: Any) -> None:
    by_hand = made().fused(10000)[0]
    assert by_hand.error() >= 1e9


# -- between devices ----------------------------------------------------------------------------------------------


@pytest.fixture
def two(cupy: Any) -> Any:
    cupy.STATE.devices = 2
    return cupy


def test_the_task_may_allow_fewer_devices(cupy: Any) -> None:
    cupy.STATE.devices = 4
    assert [made(devices=devices).peers() for devices in (None, 2, 8)] == [4, 2, 4]


def test_copies_from_gpu_to_gpu(two: Any) -> None:
    peer = made().peer(0, 1, 70001)
    assert peer.can_access is True
    assert two.STATE.peers == {(0, 1), (1, 0)}
    assert peer.differing() > 60000
    peer.copy()
    peer.wait()
    assert peer.differing() == 0
    peer.here[123] ^= 1  # type: ignore[attr-defined]
    assert peer.differing() == 1
    assert made().peer(0, 1, KIB).can_access is True  # where access is open already
    assert two.STATE.device == 0


def test_devices_that_do_not_reach_each_other(two: Any) -> None:
    two.STATE.access = False
    assert made().peer(0, 1, KIB).can_access is False
    assert two.STATE.peers == set()


def test_sums_over_all_devices(two: Any) -> None:
    pauses: list[int] = []
    found = made().allreduce(4096, lambda: pauses.append(1))
    seconds = found.pop("seconds")
    assert found == {"ranks": 2, "transport": "nccl", "wrong": 0, "bytes": 4096}
    assert (len(seconds), len(pauses)) == (10, 13)


def test_a_rank_that_is_left_out_shows(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two.Communicator, "lost", 1)
    assert made().allreduce(4096, lambda: None)["wrong"] == 2 * (1024 + 2048)  # of float32 and of bf16, on both


def test_sums_on_amds(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two.runtime, "is_hip", True)
    assert made().allreduce(4096, lambda: None)["transport"] == "rccl"


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (SimpleNamespace(available=False), "CuPy finds no NCCL, which is a separate package."),
        (None, "CuPy cannot load NCCL: import of cupy.cuda.nccl halted; None in sys.modules."),
    ],
)
def test_without_nccl(two: Any, module: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy.cuda.nccl", module)
    with pytest.raises(Unsupported) as refused:
        made().allreduce(4096, lambda: None)
    assert str(refused.value) == message


def test_communicators_are_taken_down_after_an_error(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gone: list[int] = []
    monkeypatch.setattr(two.Communicator, "destroy", lambda _: gone.append(1))

    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made().allreduce(4096, stop)
    assert len(gone) == 2
