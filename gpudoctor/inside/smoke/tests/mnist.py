"""`mnist`: is one training step right, is it really taken, and does the loss fall in twenty?

The loss alone would see neither TF32 nor a lost image (it is blind below 1e-6), so every gradient of a strict float32
step is held against float64. Weights are made by counting and the digits are shipped: every framework starts from the
same bits.
"""

from __future__ import annotations

import time

from ..timing import median
from ..weights import Weights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..bench import Bench

RATE = 0.05  # of the one step that is checked
STEPS, BATCH, TRAINING_RATE = 20, 64, 0.1


def run(bench: Bench) -> None:
    """Test the step in float32."""
    with bench.test("mnist"), bench.backend.precision("fp32"):
        _one(bench)


def weights(bench: Bench) -> Weights:
    """The first weights of the network that this backend has."""
    from ..weights import CNN, MLP

    layers = MLP if getattr(bench.backend, "layers", "cnn") == "mlp" else CNN
    found: Weights = bench.kept("weights", lambda: Weights(layers))
    return found


def reference(bench: Bench) -> tuple[float, list[Any]]:
    """Loss and gradients in float64 on the CPU."""
    images, labels = bench.digits()
    pair: tuple[float, list[Any]] = bench.kept(
        "reference", lambda: bench.backend.reference(weights(bench), images, labels)
    )
    return pair


def relative(bench: Bench, found: list[Any], true: list[Any]) -> list[float]:
    """Of each parameter the norm of the gradient's error over the norm of the gradient; 1e9 where it is no number."""
    host, errors = bench.backend.host, []
    for one, other in zip(found, true):
        error = host.norm(one - other) / host.norm(other)
        errors.append(error if error == error and error < 1e9 else 1e9)
    return errors


def _one(bench: Bench) -> None:
    host = bench.backend.host
    images, labels = bench.digits()
    true_loss, true = reference(bench)
    network = bench.backend.network(weights(bench), images, labels)
    loss, found = network.gradients()
    errors = relative(bench, found, true)
    worst = max(range(len(errors)), key=errors.__getitem__)
    bench.figure("loss error", abs(loss - true_loss) / true_loss, "ratio", "against float64 on the CPU")
    bench.figure("gradient error", errors[worst], "ratio", "worst parameter, relative norm against float64 on the CPU")
    bench.note(worst_gradient=weights(bench).names[worst], smallest_gradient_error=min(errors), loss=loss)
    again = network.gradients()[1]
    bench.note(not_repeated=sum(int((one != other).sum()) for one, other in zip(found, again)))
    before = network.weights()
    network.update(RATE)
    bench.figure(
        "step error", _step_error(bench, before, network.weights(), found), "ratio", "of the change of the weights"
    )
    drop = loss - network.loss()
    bench.figure(
        "descent", drop / (RATE * sum(host.norm(g) ** 2 for g in found)), "ratio", "loss fallen over rate |g|^2"
    )
    bench.pause()
    _train(bench, network)


def _step_error(bench: Bench, before: list[Any], after: list[Any], slopes: list[Any]) -> float:
    """How far the weights' change is from -rate times the gradient, over the whole network."""
    host = bench.backend.host
    wrong = sum(host.norm(b - a + RATE * g) ** 2 for b, a, g in zip(after, before, slopes)) ** 0.5
    meant = RATE * sum(host.norm(g) ** 2 for g in slopes) ** 0.5
    return float(wrong / meant) if meant else 1.0


def _train(bench: Bench, network: Any) -> None:
    """Twenty steps: the loss falls, images a second."""
    start, seconds = network.loss(), []
    begun = time.monotonic()
    for step in range(STEPS):
        bench.pause()
        call = network.train(BATCH, TRAINING_RATE, step)
        seconds.append(bench.backend.elapsed(call, 1))
    bench.timed(begun, time.monotonic())
    rates = [BATCH / s for s in seconds[2:]]  # the first steps load and tune what they need
    bench.figure("rate", median(rates), "images/s", "training, batch %d, %d steps" % (BATCH, STEPS), rates)
    bench.figure("loss left", network.loss() / start, "ratio", "loss after %d steps over the loss before" % STEPS)
