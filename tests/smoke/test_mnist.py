"""The training step: a clean one is well inside its tolerance, and every planted fault is outside."""

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from gpudoctor.smoketests.digits import shipped
from gpudoctor.workers.smoke.backends.cpu import CpuBackend as Cpu
from gpudoctor.workers.smoke.network import ArrayNetwork
from gpudoctor.workers.smoke.runner import Bench
from gpudoctor.workers.smoke.tests import mnist
from gpudoctor.workers.smoke.weights import CNN, MLP, Weights
from tests.smoke.bench_kit import Kept, results

# The limits of the method: a gradient's relative error from which a warning is given, and the descent's range.
TOLERANCE, CLEAN_SHARE = 1e-4, 50
DESCENT = (0.95, 1.02)
DIGITS = shipped()
IMAGES, LABELS = DIGITS.images, DIGITS.labels
FIRST, FIRST_SMALL = Weights(CNN), Weights(MLP)


def bench(backend: Any = None) -> Bench:
    """A bench with the shipped digits."""
    made = Bench(Kept(), backend or Cpu({}), {"dtypes": []})
    made.kept("digits", lambda: (IMAGES, LABELS))
    return made


@pytest.fixture(scope="module", params=["cnn", "mlp"])
def done(request: pytest.FixtureRequest) -> Any:
    """What a whole test told of a healthy device."""
    backend: Any = Cpu({})
    backend.layers = request.param
    return results(mnist.run, bench(backend))[0]


def test_a_clean_step_is_far_inside_the_tolerance(done: Any) -> None:
    assert done.outcome == "done", done.message
    assert done.figures["gradient error"] * CLEAN_SHARE <= TOLERANCE
    assert done.figures["loss error"] < 1e-6
    assert done.figures["step error"] < 3e-5
    assert done.notes["not_repeated"] == 0
    assert done.notes["other_weights"] == 0


def test_the_loss_falls_as_the_slope_says_and_training_learns(done: Any) -> None:
    assert done.figures["descent"] == pytest.approx(1, abs=0.005)
    assert done.figures["loss left"] < 0.6 / 1.5


@pytest.fixture(scope="module", params=[CNN, MLP], ids=["cnn", "mlp"])
def first(request: pytest.FixtureRequest) -> Weights:
    """The first weights of each network."""
    return FIRST if request.param is CNN else FIRST_SMALL


_TRUE: dict[int, Any] = {}


def true(weights: Weights) -> Any:
    """Loss and gradients in float64, worked out once."""
    if id(weights) not in _TRUE:
        _TRUE[id(weights)] = Cpu({}).reference(weights, IMAGES, LABELS)
    return _TRUE[id(weights)]


def error(weights: Weights, images: bytes = IMAGES, labels: bytes = LABELS, change: Any = None) -> float:
    """The worst gradient's error with a fault."""
    network = ArrayNetwork(numpy, weights, images, labels, numpy.float32)
    if change:
        change(network)
    return max(mnist.relative(bench(), network.gradients()[1], true(weights)[1]))


def without(number: int) -> bytes:
    """The images with one of them lost."""
    return IMAGES[: number * 784] + bytes(784) + IMAGES[(number + 1) * 784 :]


@pytest.mark.parametrize("number", [0, 255])
def test_one_lost_image_shows(first: Weights, number: int) -> None:
    assert error(first, without(number)) > 50 * TOLERANCE


FAULTS: dict[str, Callable[[], tuple[bytes, bytes]]] = {
    "images shifted by a pixel": lambda: (IMAGES[1:] + b"\0", LABELS),
    "images of the neighbour": lambda: (IMAGES[784:] + IMAGES[:784], LABELS),
    "one pixel inverted": lambda: (IMAGES[:5000] + bytes([IMAGES[5000] ^ 255]) + IMAGES[5001:], LABELS),
    "one label": lambda: (IMAGES, bytes([(LABELS[0] + 1) % 10]) + LABELS[1:]),
    "labels all the same": lambda: (IMAGES, bytes(256)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_batch_shows(first: Weights, fault: str) -> None:
    assert error(first, *FAULTS[fault]()) > 10 * TOLERANCE


def test_a_flipped_sign_of_one_weight_shows(first: Weights) -> None:
    """But of some at units that hardly an image stirs: a fifth of the CNN's take hardly part in the step."""
    at = first.names.index("fc1.weight")
    count = numpy.frombuffer(first.buffers[at], numpy.float32).size

    def flipped(place: int) -> Callable[[ArrayNetwork], None]:
        def change(network: ArrayNetwork) -> None:
            network.parameters[at] = network.parameters[at].copy()
            network.parameters[at].flat[place] *= -1

        return change

    found = sorted(error(first, change=flipped(place)) for place in range(777, count, count // 5 + 37))
    assert found[len(found) // 2] > 5 * TOLERANCE


def test_tf32_shows(first: Weights) -> None:
    """Weights with the ten bits of mantissa that TF32 keeps."""

    def change(network: ArrayNetwork) -> None:
        network.parameters = [
            (p.view(numpy.uint32) + 0x1000 & 0xFFFFE000).astype(numpy.uint32).view(numpy.float32)
            for p in network.parameters
        ]

    assert error(first, change=change) > 2.5 * TOLERANCE


def test_rounding_of_other_devices_does_not_show(first: Weights) -> None:
    """The weights are moved by more than any order of sums rounds: nothing tips over, so no gradient jumps."""
    chance = numpy.random.default_rng(1)

    def change(network: ArrayNetwork) -> None:
        network.parameters = [
            (p * (1 + 4e-6 * chance.uniform(-1, 1, p.shape))).astype(numpy.float32) for p in network.parameters
        ]

    assert max(error(first, change=change) for _ in range(3)) < TOLERANCE / 5


class Lazy(ArrayNetwork):
    """Takes the step as often as `times` says."""

    times = 0.0

    def update(self, rate: float) -> None:
        super().update(rate * self.times)


@pytest.mark.parametrize("times", [0.0, 0.9, 2.0, -1.0])
def test_a_step_that_is_not_taken_as_it_should_shows(times: float) -> None:
    class Sick(Cpu):
        def network(self, weights: Weights, images: bytes, labels: bytes) -> Any:
            made = Lazy(self.numpy, weights, images, labels, self.numpy.float32)
            made.times = times
            return made

    def run(whole: Bench) -> None:
        with whole.test("mnist"):
            mnist._taken(whole, mnist.TrainingStep(whole, FIRST_SMALL, true(FIRST_SMALL)))

    (reported,) = results(run, bench(Sick({})))
    assert reported.figures["step error"] > 500 * TOLERANCE
    assert not DESCENT[0] <= reported.figures["descent"] <= DESCENT[1]


class Tie(ArrayNetwork):
    """Where `tie` is set, one gradient is off as if rounding had decided a maximum."""

    tie, off = False, 0.0

    def gradients(self, precision: str = "fp32", scale: float = 1.0) -> tuple[float, list[Any]]:
        loss, found = super().gradients()
        if self.tie:
            found[0] = found[0] * (1 + self.off)
        return loss, found


@pytest.mark.parametrize(
    ("seeds", "off", "others", "shows"),
    [((1,), 5e-4, 1, False), ((1, 2), 5e-4, 2, False), ((1, 2, 3, 4), 5e-4, 3, True), ((1,), 5e-3, 0, True)],
    ids=["one near tie", "two", "a fault stays", "too far off for a tie"],
)
def test_a_near_tie_is_asked_again_with_other_weights(
    seeds: tuple[int, ...], off: float, others: int, shows: bool
) -> None:
    tied = {Weights(MLP, seed).buffers[0] for seed in seeds}

    class Near(Cpu):
        layers = "mlp"

        def network(self, weights: Weights, images: bytes, labels: bytes) -> Any:
            made = Tie(self.numpy, weights, images, labels, self.numpy.float32)
            made.tie, made.off = weights.buffers[0] in tied, off
            return made

    (reported,) = results(mnist.run, bench(Near({})))
    assert reported.outcome == "done", reported.message
    assert reported.notes["other_weights"] == others
    assert (reported.figures["gradient error"] > TOLERANCE) == shows
