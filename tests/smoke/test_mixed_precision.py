"""The training step in bf16 or fp16: which type, how the loss is scaled, and that autocast without effect shows."""

from typing import Any

import pytest

from gpudoctor.workers.smoke.network import ArrayNetwork
from gpudoctor.workers.smoke.tests import mixed_precision
from tests.smoke.bench_kit import Device, Done, bench, results


def coarse(gradient: Any) -> Any:
    """As bf16 rounds: seven bits after the first."""
    import numpy

    bits = gradient.astype(numpy.float32).view(numpy.uint32) + numpy.uint32(0x8000) & numpy.uint32(0xFFFF0000)
    return bits.view(numpy.float32).astype(numpy.float64)


class Mixed(ArrayNetwork):
    """Gradients that are rounded; in fp16 the largest scales are too much."""

    most = 2.0**16

    def gradients(self, precision: str = "fp32", scale: float = 1.0) -> tuple[float, list[Any]]:
        loss, found = super().gradients()
        if precision == "fp32":
            return loss, found
        found = [coarse(g) for g in found]
        if precision == "fp16" and scale > self.most:
            found[3][:5] = float("inf")
        return loss * (1 + 1e-4), found


class Idle(ArrayNetwork):
    """Autocast that does nothing."""

    def gradients(self, precision: str = "fp32", scale: float = 1.0) -> tuple[float, list[Any]]:
        return super().gradients()


class Broken(Mixed):
    """A loss that is no number."""

    def gradients(self, precision: str = "fp32", scale: float = 1.0) -> tuple[float, list[Any]]:
        loss, found = super().gradients(precision, scale)
        return float("nan") if precision != "fp32" else loss, found


class Trainer(Device):
    """A device with these types, and a network of this kind."""

    has = ("fp32", "bf16")
    of: type[ArrayNetwork] = Mixed
    asked: str = ""

    def network(self, weights: Any, images: bytes, labels: bytes) -> Any:
        return self.of(self.numpy, weights, images, labels, self.numpy.float32)


def one(backend: Any = None, **task: Any) -> Done:
    (done,) = results(mixed_precision.run, bench(backend, **task))
    return done


def test_a_step_in_bf16() -> None:
    done = one(Trainer())
    assert (done.outcome, done.variant) == ("done", "bf16")
    assert done.figures["loss error"] == pytest.approx(1e-4, rel=0.1)
    assert 1e-4 < done.figures["gradient error"] < 8e-3
    assert done.figures["difference"] == pytest.approx(done.figures["gradient error"], rel=0.1)
    assert (done.figures["scale"], done.notes) == (1.0, {"not_finite": 0, "skipped": 0})


def test_autocast_without_effect_shows() -> None:
    done = one(Trainer(of=Idle))
    assert done.figures["difference"] == 0.0
    assert done.figures["gradient error"] < 1e-5


def test_fp16_where_there_is_no_bf16() -> None:
    done = one(Trainer(has=("fp32", "fp16")))
    assert (done.outcome, done.variant, done.figures["scale"]) == ("done", "fp16", 2.0**16)


def test_fp16_where_the_user_wants_it() -> None:
    assert one(Trainer(has=("fp32", "bf16", "fp16")), dtypes=["fp16", "fp32"]).variant == "fp16"


@pytest.mark.parametrize(
    ("most", "scale", "skipped", "not_finite"),
    [(2.0**16, 2.0**16, 0, 0), (2.0**15, 2.0**15, 1, 0), (2.0**14, 2.0**14, 2, 0), (2.0**13, 2.0**14, 2, 5)],
)
def test_the_scale_is_halved_twice_at_most(most: float, scale: float, skipped: int, not_finite: int) -> None:
    class Scaled(Mixed):
        pass

    Scaled.most = most
    done = one(Trainer(has=("fp32", "fp16"), of=Scaled))
    assert (done.figures["scale"], done.notes) == (scale, {"not_finite": not_finite, "skipped": skipped})
    assert (done.figures["gradient error"] == 1e9) is bool(not_finite)


def test_a_loss_that_is_no_number_is_no_good_one() -> None:
    assert one(Trainer(of=Broken)).figures["loss error"] == 1e9


def test_nothing_but_float32() -> None:
    done = one()
    assert (done.outcome, done.variant, done.message) == ("unsupported", "bf16", "NumPy has no matmul in bf16.")


def test_what_the_network_cannot() -> None:
    done = one(Trainer(of=ArrayNetwork))
    assert (done.outcome, done.message) == (
        "unsupported",
        "This network, written by hand, has no mixed precision.",
    )


def test_what_the_user_does_not_want_is_not_run() -> None:
    assert results(mixed_precision.run, bench(Trainer(), dtypes=["fp32"])) == []
