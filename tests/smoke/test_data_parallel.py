"""The data-parallel step over NumPy's replicas: right ones pass, and of each fault the replica is named."""

from collections.abc import Callable
from typing import Any

import pytest

from gpudoctor.workers.smoke.runner import Hung, Stopped
from gpudoctor.workers.smoke.tests import data_parallel, mnist
from gpudoctor.workers.smoke.weights import Batch
from tests.smoke.bench_kit import IMAGES, Device, Done, bench, results

Arrays = list[Any]
Fault = Callable[[list[Arrays], list[Arrays]], None]


class Replicas(Device):
    """So many GPUs, each NumPy: `lost` changes what they bring to the average, `drift` what they became by it."""

    count = 4
    lost: Callable[[list[Arrays]], None] = staticmethod(lambda brought: None)
    drift: Fault = staticmethod(lambda received, weights: None)
    split: tuple[int, ...] = ()
    slower = 1.1

    def peers(self) -> int:
        return self.count

    def elapsed(self, call: Callable[[], Any], times: int) -> float:
        return 0.01

    def data_parallel(
        self, batch: Batch, count: int, rate: float, timed: int, pause: Callable[[], None]
    ) -> dict[str, Any]:
        pause()
        parts = [batch.part(number, count) for number in range(count)]
        self.split = tuple(len(part.labels) for part in parts)
        networks = [self.network(part.first, part.images, part.labels) for part in parts]
        brought = [network.gradients()[1] for network in networks]
        self.lost(brought)
        average = [sum(each) / count for each in zip(*brought, strict=True)]
        received = [[slope.copy() for slope in average] for _ in networks]
        weights = [
            [before - rate * slope for before, slope in zip(network.weights(), slopes, strict=True)]
            for network, slopes in zip(networks, received, strict=True)
        ]
        self.drift(received, weights)
        seconds = [0.01 * self.slower] * 4 if timed else []
        return {"transport": "nccl", "gradients": received, "weights": weights, "seconds": seconds}


def one(device: Device, **task: Any) -> Done:
    (done,) = results(data_parallel.run, bench(device, **task))
    return done


def scaled(rank: int, factor: float) -> Callable[[list[Arrays]], None]:
    """A fault: what a replica brings is multiplied."""

    def lose(brought: list[Arrays]) -> None:
        brought[rank][:] = [slope * factor for slope in brought[rank]]

    return lose


def test_right_replicas() -> None:
    done = one(Replicas(), numbers=["0", "1", "3", "5"])
    assert done.outcome == "done", done.message
    assert done.figures["gradient error"] < 1e-5
    assert done.figures["step error"] < 1e-12
    names = ("ranks", "transport", "differing", "differing_ranks", "devices", "other_weights")
    assert {name: done.notes[name] for name in names} == {
        "ranks": 4, "transport": "nccl", "differing": 0, "differing_ranks": "", "devices": "0 1 3 5",
        "other_weights": 0,
    }  # fmt: skip
    assert "shares" not in done.notes


@pytest.mark.parametrize(("factor", "shares"), [(0.0, [1, 1, 0, 1]), (2.0, [1, 1, 2, 1]), (-1.0, [1, 1, -1, 1])])
def test_a_gradient_that_is_lost_or_scaled(factor: float, shares: list[float]) -> None:
    done = one(Replicas(lost=scaled(2, factor)))
    assert done.figures["gradient error"] > 0.01
    assert [float(share) for share in done.notes["shares"].split()] == pytest.approx(shares, abs=1e-4)
    assert done.notes["unexplained"] < 1e-4
    assert done.notes["differing"] == 0  # all replicas follow the same wrong average


def test_one_part_in_a_hundred_is_seen() -> None:
    done = one(Replicas(count=8, lost=scaled(7, 0.99)))
    assert done.figures["gradient error"] > 1e-4
    assert float(done.notes["shares"].split()[7]) == pytest.approx(0.99, abs=1e-3)


def test_a_sum_that_nobody_divided() -> None:
    def whole(brought: list[Arrays]) -> None:
        for rank in range(4):
            scaled(rank, 4)(brought)

    assert [float(share) for share in one(Replicas(lost=whole)).notes["shares"].split()] == pytest.approx([4] * 4)


def test_a_gradient_that_comes_twice_in_place_of_another() -> None:
    def twice(brought: list[Arrays]) -> None:
        brought[1] = brought[0]

    found = one(Replicas(lost=twice)).notes["shares"].split()
    assert [float(share) for share in found] == pytest.approx([2, 0, 1, 1], abs=1e-4)


def test_bytes_that_arrive_corrupted_are_no_share_of_anything() -> None:
    def corrupt(brought: list[Arrays]) -> None:
        brought[3][4][:64] = 0.5

    done = one(Replicas(lost=corrupt))
    assert done.notes["worst_gradient"] == "fc1.weight"
    assert done.notes["unexplained"] > 0.1


def test_a_replica_that_received_something_else() -> None:
    def other(received: list[Arrays], weights: list[Arrays]) -> None:
        for at, slope in enumerate(received[0]):
            weights[0][at] -= mnist.RATE * slope
            received[0][at] = 2 * slope

    done = one(Replicas(drift=other))
    assert (done.notes["worst_rank"], done.notes["differing_ranks"]) == (0, "0")
    assert done.figures["gradient error"] == pytest.approx(1.0, rel=1e-3)
    assert done.figures["step error"] < 1e-12  # it took the step that it was given
    shares = done.notes["shares"].split()
    assert [float(share) for share in shares] == pytest.approx([1] * 4, abs=1e-4)


def test_weights_that_drift_by_one_bit() -> None:
    def drift(_: list[Arrays], weights: list[Arrays]) -> None:
        weights[2][7][3] += 2.0**-30

    done = one(Replicas(drift=drift))
    assert (done.notes["differing"], done.notes["differing_ranks"]) == (1, "2")
    assert done.figures["gradient error"] < 1e-5


def test_a_step_that_is_not_taken() -> None:
    def still(received: list[Arrays], weights: list[Arrays]) -> None:
        weights[1] = [after + mnist.RATE * slope for after, slope in zip(weights[1], received[1], strict=True)]

    done = one(Replicas(drift=still))
    assert done.figures["step error"] == pytest.approx(1.0)
    assert "1" in done.notes["differing_ranks"].split()


def test_no_number_is_no_small_error() -> None:
    done = one(Replicas(lost=scaled(1, float("nan"))))
    assert done.figures["gradient error"] == 1e9
    assert done.result["outcome"] == "done"


@pytest.mark.parametrize(("count", "parts"), [(2, (8, 8)), (3, (5, 5, 5)), (16, (1,) * 16)])
def test_parts_are_equal_and_the_rest_is_left_out_on_both_sides(count: int, parts: tuple[int, ...]) -> None:
    device = Replicas(count=count)
    assert one(device).figures["gradient error"] < 1e-5
    assert device.split == parts
    assert sum(parts) <= IMAGES


def test_the_speed_is_measured_on_gpus_alone() -> None:
    figures = one(Replicas()).figures
    assert figures["scaling"] == pytest.approx(4 / 1.1)
    assert (figures["step on one"], figures["step on all"]) == (0.01, pytest.approx(0.011))
    assert set(one(Replicas(kind="cpu")).figures) == {"gradient error", "step error"}


def test_on_the_cpu_there_are_two() -> None:
    assert one(Replicas(kind="cpu", count=0)).notes["ranks"] == 2


@pytest.mark.parametrize("count", [0, 1])
def test_one_gpu_is_no_failure(count: int) -> None:
    done = one(Replicas(count=count))
    assert done.outcome == "unsupported"
    assert done.message == f"Data-parallel training needs two GPUs, and NumPy sees {count}."


def test_a_backend_without_it() -> None:
    done = one(Device(kind="cpu"))
    assert (done.outcome, done.message) == ("unsupported", "NumPy has no data-parallel training.")


def test_a_hang_between_replicas_is_reported_as_one() -> None:
    def hang(_: list[Arrays]) -> None:
        raise Hung("data-parallel training did not finish within 45 seconds; rank 1 did not arrive in stage step")

    done = one(Replicas(lost=hang))
    assert (done.outcome, done.result["error"]) == ("hung", None)
    assert "rank 1 did not arrive" in done.message


def test_who_stops_the_run_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudoctor.workers.smoke.runner._ASKED", [15])
    with pytest.raises(Stopped):
        data_parallel.run(bench(Replicas()))


def test_nothing_is_known_of_a_system_that_is_not_definite() -> None:
    assert data_parallel.solved([[0.0, 0.0], [0.0, 0.0]], [1.0, 1.0]) == [0.0, 0.0]
    assert data_parallel.solved([[4.0, 2.0], [2.0, 3.0]], [10.0, 9.0]) == pytest.approx([1.5, 2.0])
