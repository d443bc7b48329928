"""Forward passes: the device beside the CPU, and that outputs which differ show."""

from collections.abc import Callable
from typing import Any

import pytest

from gpudoctor.workers.smoke.network import ArrayNetwork
from gpudoctor.workers.smoke.runner import Unsupported
from gpudoctor.workers.smoke.tests import inference
from tests.smoke.bench_kit import Device, Done, bench, quick, results


class Network(ArrayNetwork):
    """Outputs that are a little off in bf16."""

    def predict(self, batch: int, precision: str = "fp32") -> Callable[[], Any]:
        call = super().predict(batch)
        return call if precision == "fp32" else lambda: call() * 1.01


class Wrong(ArrayNetwork):
    """The first image has the outputs of another."""

    def predict(self, batch: int, precision: str = "fp32") -> Callable[[], Any]:
        call = super().predict(batch)

        def ill() -> Any:
            logits = call()
            logits[0] = logits[-1]
            return logits

        return ill


class NoNumbers(ArrayNetwork):
    """Outputs that are no numbers."""

    def predict(self, batch: int, precision: str = "fp32") -> Callable[[], Any]:
        call = super().predict(batch)
        return lambda: call() * float("nan")


class Homeless(Network):
    """A framework that does not run on the CPU."""

    def predict_on_cpu(self, batch: int) -> Callable[[], Any]:
        raise Unsupported("It does not run on the CPU.")


class Classifier(Device):
    """A device with a network of this kind."""

    has = ("fp32", "bf16")
    of: type[ArrayNetwork] = Network

    def network(self, weights: Any, images: bytes, labels: bytes) -> Any:
        return self.of(self.numpy, weights, images, labels, self.numpy.float32)


BOTH = ["gpu 1", "cpu 1", "speed-up 1", "gpu 256", "cpu 256", "speed-up 256", "error"]


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "measure", quick)
    monkeypatch.setattr(inference, "SECONDS", 0.0)
    monkeypatch.setattr(inference, "SAMPLE", 0.0)


def passes(backend: Any = None, **task: Any) -> list[Done]:
    return results(inference.run, bench(backend, **task))


def test_the_device_beside_the_cpu() -> None:
    fp32, bf16 = passes(Classifier())
    assert [(done.outcome, done.variant) for done in (fp32, bf16)] == [("done", "fp32"), ("done", "bf16")]
    assert list(fp32.figures) == list(bf16.figures) == BOTH
    assert fp32.figures["gpu 256"] == pytest.approx(256 / 0.002)
    assert fp32.figures["speed-up 1"] == pytest.approx(fp32.figures["gpu 1"] / fp32.figures["cpu 1"])
    assert len(fp32.samples["cpu 256"]) >= 5
    assert (fp32.units["gpu 1"], fp32.units["speed-up 1"]) == ("images/s", "ratio")


def test_the_cpu_is_measured_once() -> None:
    fp32, bf16 = passes(Classifier())
    assert fp32.samples["cpu 1"] == bf16.samples["cpu 1"]


def test_outputs_that_agree_and_that_do_not() -> None:
    fp32, bf16 = passes(Classifier())
    assert fp32.figures["error"] < 1e-6
    assert bf16.figures["error"] == pytest.approx(0.01, rel=1e-3)
    assert passes(Classifier(of=Wrong))[0].figures["error"] > 1e-3
    assert passes(Classifier(of=NoNumbers))[0].figures["error"] == 1e9


def test_a_framework_without_a_cpu_is_held_against_float64() -> None:
    (done,) = passes(Classifier(of=Homeless, has=("fp32",)))
    assert list(done.figures) == ["gpu 1", "gpu 256", "error"]
    assert 0 < done.figures["error"] < 1e-6


def test_on_the_cpu_alone() -> None:
    (done,) = passes()
    assert (done.outcome, list(done.figures)) == ("done", ["cpu 1", "cpu 256", "error"])
    assert 0 < done.figures["error"] < 1e-6


def test_on_the_cpu_wrong_outputs_show_too() -> None:
    (done,) = passes(Classifier(of=Wrong, kind="cpu", has=("fp32",)))
    assert done.figures["error"] > 1e-3


def test_a_network_that_has_no_such_type() -> None:
    _, bf16 = passes(Classifier(of=ArrayNetwork))
    assert (bf16.outcome, bf16.message) == (
        "unsupported",
        "This network, written by hand, computes in float32 only.",
    )


def test_what_the_user_does_not_want_is_not_run() -> None:
    assert [done.variant for done in passes(Classifier(), dtypes=["bf16"])] == ["bf16"]
