"""TensorFlow's smoke tests on the CPU, with real releases, Keras 2 and Keras 3: they measure right, and see faults."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.smoke.xla_kit import Worked, inside, worked

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(900)]
Interpreter = Callable[..., str]

NEW, OLD = ("tf", "tensorflow"), ("tf216", "tensorflow-cpu==2.16.2", "tf_keras==2.16.0")
KERAS_2 = {"TF_USE_LEGACY_KERAS": "1"}
# A user's settings of Keras, none of which may change what is computed.
STRANGE = {"KERAS_BACKEND": "jax"}
TESTS = "matmul mnist mixed-precision transfer overlap bandwidth fused inference peer allreduce stress"
WAYS = [(NEW, STRANGE), (OLD, {}), (OLD, KERAS_2)]


class Way:
    """An interpreter and its environment."""

    def __init__(self, python: str, env: dict[str, str]) -> None:
        self.python, self.env = python, env

    def worked(self, tests: str) -> Worked:
        return worked(self.python, "tensorflow", tests, env=self.env)

    def inside(self, lines: str) -> list[Any]:
        return list(inside(self.python, "tensorflow", lines, env=self.env))


@pytest.fixture(
    scope="module",
    params=[WAYS[0], *(pytest.param(way, marks=pytest.mark.large) for way in WAYS[1:])],
    ids=["new", "old", "old, Keras 2"],
)
def way(request: pytest.FixtureRequest, interpreter: Interpreter) -> Way:
    requirements, env = request.param
    return Way(interpreter(*requirements), env)


@pytest.fixture(scope="module")
def found(way: Way) -> Worked:
    return way.worked(TESTS)


def test_products(found: Worked) -> None:
    products = found["matmul"]
    assert list(products) == ["fp32", "tf32", "fp16", "bf16", "fp8"]
    assert products["fp32"].outcome == "done"
    for dtype, least, most in (("fp32", 1e-8, 1e-6), ("fp16", 1e-4, 4e-4), ("bf16", 1e-3, 3e-3)):
        product = products[dtype]
        if product.outcome == "unsupported" and dtype != "fp32":
            assert "has no arithmetic in" in product.message
            continue
        assert least < product.figures["error"] < most
        assert least < product.notes["part_error"] < most
        assert product.notes["not_finite"] == product.notes["not_repeated"] == 0
    assert products["tf32"].message == "TF32 is a format of NVIDIA's GPUs, and this is the CPU."


def test_a_training_step(found: Worked) -> None:
    step = found.only("mnist")
    assert step.outcome == "done", step.message
    assert step.figures["loss error"] < 1e-5
    assert 0 < step.figures["gradient error"] < 1e-4
    assert step.figures["step error"] < 1e-4
    assert step.figures["descent"] == pytest.approx(1.0, abs=0.05)
    assert step.figures["loss left"] < 0.6


def test_mixed_precision(found: Worked) -> None:
    (step,) = found["mixed-precision"].values()
    assert step.outcome == "done", step.message
    assert 1e-4 < step.figures["difference"] < 0.1
    assert step.figures["gradient error"] < 0.1
    assert step.notes == {"not_finite": 0, "skipped": 0}


def test_copies_and_vectors(found: Worked) -> None:
    copies = found.only("transfer")
    assert (copies.outcome, list(copies.figures)) == ("done", ["copy"])
    assert (copies.notes["differing"], copies.notes["pieces_differing"], copies.notes["pinned"]) == (0, 0, None)
    vectors = found.only("bandwidth")
    assert (vectors.outcome, vectors.notes["wrong"]) == ("done", 0)


def test_a_compiled_kernel(found: Worked) -> None:
    fused = found["fused"]["XLA"]
    assert fused.outcome == "done", fused.message
    assert 0 < fused.figures["error"] < 1e-6
    assert fused.figures["compile"] > 0


def test_forward_passes(found: Worked) -> None:
    passes = found["inference"]
    assert passes["fp32"].figures["error"] < 1e-5
    assert "bf16" not in passes or 1e-4 < passes["bf16"].figures["error"] < 3e-2


def test_stress(found: Worked) -> None:
    done = found.only("stress")
    assert (done.outcome, done.notes["wrong"], done.notes["not_finite"]) == ("done", 0, 0)


def test_what_tensorflow_has_not(found: Worked) -> None:
    assert {found.only(name).outcome for name in ("overlap", "peer", "allreduce")} == {"unsupported"}


def test_no_gpu_is_told(way: Way) -> None:
    one = worked(way.python, "tensorflow", "matmul", kind="cuda", env=way.env)
    assert (one.facts["outcome"], one.tests) == ("unsupported", [])
    assert one.facts["message"] in (
        "tf.config.list_physical_devices('GPU') is empty; TensorFlow's log shows why.",
        f"TensorFlow {one.facts['version']} was built without support for GPUs.",
    )


# -- what the parts see -----------------------------------------------------------------------------------------------


def test_elements_are_compared_bit_for_bit(way: Way) -> None:
    lines = """
def count(type):
    one = numpy.array([1, numpy.nan, 0.0, 3, 5], numpy.float32).astype(type.as_numpy_dtype)
    other = numpy.array([1, numpy.nan, -0.0, 4, 5], numpy.float32).astype(type.as_numpy_dtype)
    return [backend.unequal(backend.put(a), backend.put(b)) for a, b in ((one, other), (one, one), (one[2:], one[2:]))]
tell([count(type) for type in (backend.tf.float32, backend.tf.float16, backend.tf.bfloat16)])
"""
    assert way.inside(lines) == [[3, 1, 0]] * 3


NETWORK = """
from gpudoctor.workers.smoke.network import ArrayNetwork
network = backend.network(Weights(), images, labels)
true = ArrayNetwork(numpy, Weights(), images, labels, numpy.float64)
"""


def test_the_keras_in_use(way: Way) -> None:
    (module,) = way.inside(NETWORK + "tell([type(network.model).__module__])")
    assert module.partition(".")[0] == ("tf_keras" if way.env == KERAS_2 else "keras")


def test_each_step_of_the_training_is_right(way: Way) -> None:
    lines = """
errors = []
for step in range(5):
    before = network.weights()
    true.parameters = [w.copy() for w in before]
    network.train(64, 0.1, step)()
    true.train(64, 0.1, step)()
    pairs = zip(network.weights(), true.parameters, before)
    errors.append(max(apart(found - first, meant - first) for found, meant, first in pairs))
tell(errors)
"""
    errors = way.inside(NETWORK + lines)
    assert len(errors) == 5
    assert sorted(errors)[2] < 1e-4
    assert max(errors) < 5e-3  # where two pixels are equal but for rounding, another may be the largest


def test_gradients_in_each_precision_and_scale(way: Way) -> None:
    lines = """
right = true.gradients()[1]
def error(precision, scale):
    loss, found = network.gradients(precision, scale)
    return max(apart(one, other) for one, other in zip(found, right))
asked = (("fp32", 1.0), ("fp32", 65536.0), ("bf16", 1.0), ("fp16", 65536.0))
tell([error(*one) for one in asked])
"""
    strict, scaled, bf16, fp16 = way.inside(NETWORK + lines)
    assert max(strict, scaled) < 1e-5
    assert 1e-3 < bf16 < 0.1
    assert 1e-4 < fp16 < 2e-2


def test_mixed_precision_follows_the_weights(way: Way) -> None:
    """The model of another precision has weights of its own, which a step must reach."""
    lines = """
network.gradients("bf16")
network.gradients()
network.update(0.5)
true.gradients()
true.update(0.5)
right = true.gradients()[1]
found = network.gradients("bf16")[1]
logits = [backend.values(network.predict(5, precision)()) for precision in ("fp32", "bf16")]
tell([max(apart(one, other) for one, other in zip(found, right)), apart(*logits)])
"""
    gradients, logits = way.inside(NETWORK + lines)
    assert 1e-3 < gradients < 0.2
    assert 1e-4 < logits < 3e-2


def test_forward_passes_agree(way: Way) -> None:
    lines = """
right = true.predict(7)()
found, beside = backend.values(network.predict(7)()), network.predict_on_cpu(7)()
tell([*found.shape, apart(found, right), apart(beside, right)])
"""
    rows, columns, one, other = way.inside(NETWORK + lines)
    assert (rows, columns) == (7, 10)
    assert max(one, other) < 1e-5


def test_what_a_copy_loses_is_seen(way: Way) -> None:
    lines = """
copies = backend.transfer(1 << 20, False)
copies.fill(7)
copies.to_device(); copies.to_host()
right = copies.differing()
copies.clear()
cleared = copies.differing()
copies.to_host()  # of the zeros on the device
lost = copies.differing()
copies.to_device(); copies.to_host()
seen = copies.target.numpy(); seen[5] ^= 1
copies.target = copies._on_host(seen)
tell([right, cleared, lost, copies.differing(), copies.piece(4097, 12345)])
"""
    right, cleared, lost, one, piece = way.inside(lines)
    assert (right, one, piece) == (0, 1, 0)
    assert min(cleared, lost) > 1_000_000


def test_a_copy_on_the_cpu_is_one(way: Way) -> None:
    lines = """
copies = backend.transfer(1 << 20, False)
copies.fill(7)
copies.to_device(); copies.to_host()
places = {numpy.asarray(memoryview(t)).ctypes.data for t in (copies.source, copies.between, copies.target)}
tell([len(places)])
"""
    assert way.inside(lines) == [3]


def test_vectors_that_were_not_written_are_wrong(way: Way) -> None:
    lines = """
vectors = backend.vectors(5000)
vectors.copy(); vectors.triad()
right = vectors.wrong()
vectors.y = backend.tf.tensor_scatter_nd_add(vectors.y, [[17]], [1.0])
one = vectors.wrong()
vectors.triad()
tell([right, one, vectors.wrong()])
"""
    assert way.inside(lines) == [0, 1, 2]


def test_sums_under_a_strategy(way: Way) -> None:
    """NCCL needs GPUs; all else of the sum is the same over two parts of the CPU."""
    lines = """
import tensorflow as tf
from gpudoctor.workers.smoke.backends.tensorflow_devices import EXACT_TYPES, MirroredGroup, timed
group = MirroredGroup(tf, ["/CPU:0", "/CPU:1"], tf.distribute.ReductionToOneDevice())
right = [group.wrong(1000, dtype) for dtype in EXACT_TYPES]
whole = group.sum
group.sum = lambda values: values  # nothing is summed
tell([*right, group.wrong(1000, "float32"), len(timed(backend, group, 1000, lambda: None))])
"""
    parts = """
import tensorflow
cpu = tensorflow.config.list_physical_devices("CPU")[0]
tensorflow.config.set_logical_device_configuration(cpu, [tensorflow.config.LogicalDeviceConfiguration()] * 2)
"""
    assert way.inside(parts + lines) == [0, 0, 2000, 10]
