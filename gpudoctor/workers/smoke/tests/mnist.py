"""`mnist`: is one training step right, is it really taken, and does the loss fall in twenty?

The loss alone would see neither TF32 nor a lost image (it is blind below 1e-6), so every gradient of a strict float32
step is compared with float64. Weights are made by counting and the digits are shipped: every framework starts from the
same bits.
"""

from __future__ import annotations

import time

from ..timing import median
from ..weights import CNN, MLP, Weights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..runner import Bench

RATE = 0.005  # of the one step that is checked
STEPS, BATCH, TRAINING_RATE = 20, 64, 0.05  # with half or twice the rate the loss falls below a half as well
# Where a maximum or ReLU's corner hangs on the last bit, one right gradient is up to 9e-4 off another: 3 of 16 seeds of
# the weights had such a place, with the others gradients were off by 3e-6. The shipped digits keep away from such
# places (docs/render_digits.py); for real ones such an error is asked again with other weights. Faults stay.
CLEAN, UNSURE, OTHER_SEEDS = 5e-5, 2e-3, (2, 3, 4)


def run(bench: Bench) -> None:
    """Test the step in float32."""
    with bench.test("mnist"), bench.backend.precision("fp32"):
        _one(bench)


def weights(bench: Bench) -> Weights:
    """The first weights of the network that this backend has."""
    found: Weights = bench.kept("weights", lambda: weights_of(bench, 1))
    return found


def weights_of(bench: Bench, seed: int) -> Weights:
    """The network's weights that a seed makes."""
    return Weights(MLP if getattr(bench.backend, "layers", "cnn") == "mlp" else CNN, seed)


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


class TrainingStep:
    """Loss and gradients of the whole batch on the device, next to those in float64 on the CPU."""

    def __init__(self, bench: Bench, first: Weights, true: tuple[float, list[Any]]) -> None:
        self.names = first.names
        self.network = bench.backend.network(first, *bench.digits())
        self.loss, self.gradients = self.network.gradients()
        self.loss_error = abs(self.loss - true[0]) / true[0]
        self.errors = relative(bench, self.gradients, true[1])

    @property
    def unsure(self) -> bool:
        """Whether the gradients are so little off that rounding may have decided."""
        return CLEAN < max(self.errors) < UNSURE


def _one(bench: Bench) -> None:
    true = reference(bench)
    bench.progress(0.1)  # a busy CPU takes its time, and silence counts as a hang
    step, others = TrainingStep(bench, weights(bench), true), 0
    while step.unsure and others < len(OTHER_SEEDS):
        bench.pause()
        first = weights_of(bench, OTHER_SEEDS[others])
        step, others = TrainingStep(bench, first, bench.backend.reference(first, *bench.digits())), others + 1
    worst = max(range(len(step.errors)), key=step.errors.__getitem__)
    bench.figure("loss error", step.loss_error, "ratio", "against float64 on the CPU")
    bench.figure(
        "gradient error", step.errors[worst], "ratio", "worst parameter, relative norm against float64 on the CPU"
    )
    bench.note(worst_gradient=step.names[worst], smallest_gradient_error=min(step.errors), loss=step.loss)
    again = step.network.gradients()[1]
    bench.note(not_repeated=sum(int((one != other).sum()) for one, other in zip(step.gradients, again)))
    bench.note(other_weights=others)
    bench.progress(0.3)
    _taken(bench, step)
    bench.pause()
    _train(bench, step.network)


def _taken(bench: Bench, step: TrainingStep) -> None:
    """Take the step: the weights change as they should, and the loss falls as the slopes say.

    The slope along the step is the mean of the slopes before and after it, so that the curvature between them does not
    count.
    """
    network, host = step.network, bench.backend.host
    before = network.weights()
    network.update(RATE)
    error = step_error(bench, before, network.weights(), step.gradients)
    bench.figure("step error", error, "ratio", "of the change of the weights")
    loss, slopes = network.gradients()
    slope = sum(host.norm(g) ** 2 + float((g * h).sum()) for g, h in zip(step.gradients, slopes)) / 2
    bench.figure(
        "descent", (step.loss - loss) / (RATE * slope), "ratio", "loss fallen over rate x slope along the step"
    )


def step_error(bench: Bench, before: list[Any], after: list[Any], slopes: list[Any]) -> float:
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
        bench.progress(0.5 + 0.5 * (step + 1) / STEPS)
    bench.timed(begun, time.monotonic())
    rates = [BATCH / s for s in seconds[2:]]  # the first steps load and tune what they need
    bench.figure("rate", median(rates), "images/s", "training, batch %d, %d steps" % (BATCH, STEPS), rates)
    bench.figure("loss left", network.loss() / start, "ratio", "loss after %d steps over the loss before" % STEPS)
