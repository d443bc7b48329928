"""JAX's smoke tests on the CPU, with real releases of JAX: they measure right, and see what is planted."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.smoke.xla_kit import Worked, inside, worked

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(900)]
Interpreter = Callable[..., str]

NEW, OLD = ("jax", "jax"), ("jax0430", "jax==0.4.30", "jaxlib==0.4.30", "numpy<2")
TESTS = "matmul mnist mixed-precision transfer overlap bandwidth fused inference peer allreduce stress"


@pytest.fixture(scope="module", params=[NEW, pytest.param(OLD, marks=pytest.mark.large)], ids=["new", "old"])
def python(request: pytest.FixtureRequest, interpreter: Interpreter) -> str:
    return interpreter(*request.param)


@pytest.fixture(scope="module")
def found(python: str) -> Worked:
    return worked(python, "jax", TESTS)


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
    assert products["fp8"].message == "fp8 matmul is for GPUs, and this is the CPU."


def test_a_training_step(found: Worked) -> None:
    step = found.only("mnist")
    assert step.outcome == "done", step.message
    assert step.figures["loss error"] < 1e-5
    assert 0 < step.figures["gradient error"] < 1e-4
    assert step.figures["step error"] < 1e-4
    assert step.figures["descent"] == pytest.approx(1.0, abs=0.05)
    assert step.figures["loss left"] < 0.6
    assert step.notes["not_repeated"] == 0


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
    assert list(vectors.figures) == ["copy", "triad", "read"]


def test_a_compiled_kernel(found: Worked) -> None:
    fused = found["fused"]["XLA"]
    assert fused.outcome == "done", fused.message
    assert 0 < fused.figures["error"] < 1e-6
    assert fused.figures["compile"] > 0


def test_forward_passes(found: Worked) -> None:
    passes = found["inference"]
    assert passes["fp32"].figures["error"] < 1e-5
    assert "bf16" not in passes or 1e-4 < passes["bf16"].figures["error"] < 3e-2


def test_sums_over_two_parts_of_the_cpu(found: Worked) -> None:
    done = found.only("allreduce")
    assert done.outcome == "done", done.message
    assert done.notes == {"ranks": 2, "transport": "xla", "wrong": 0, "bytes": 4 << 20}


def test_stress(found: Worked) -> None:
    done = found.only("stress")
    assert (done.outcome, done.notes["wrong"], done.notes["not_finite"]) == ("done", 0, 0)


def test_what_jax_has_not(found: Worked) -> None:
    assert found.only("overlap").outcome == found.only("peer").outcome == "unsupported"


def test_no_gpu_is_told_in_jaxs_words(python: str) -> None:
    one = worked(python, "jax", "matmul", kind="cuda")
    assert (one.facts["outcome"], one.tests) == ("unsupported", [])
    assert one.facts["message"].startswith("Unknown backend: 'gpu' requested")


def test_the_users_choice_of_platforms_does_not_count_on_the_cpu(python: str) -> None:
    one = worked(python, "jax", "transfer", env={"JAX_PLATFORMS": "cuda"})
    assert one.only("transfer").outcome == "done"


# -- what the parts see -----------------------------------------------------------------------------------------------


def test_elements_are_compared_bit_for_bit(python: str) -> None:
    lines = """
def count(type):
    one = numpy.array([1, numpy.nan, 0.0, 3, 5], numpy.float32).astype(backend.jnp.dtype(type))
    other = numpy.array([1, numpy.nan, -0.0, 4, 5], numpy.float32).astype(backend.jnp.dtype(type))
    return [backend.unequal(backend.put(a), backend.put(b)) for a, b in ((one, other), (one, one), (one[2:], one[2:]))]
tell([count(type) for type in ("float32", "float16", "bfloat16")])
"""
    assert inside(python, "jax", lines) == [[3, 1, 0]] * 3


def test_fp8_is_multiplied_with_its_right_operand_turned(python: str) -> None:
    lines = """
a, b = (backend.operand(backend.host.normal(256, 256, seed), "fp8", side) for seed, side in ((1, "a"), (2, "b")))
product = backend.multiply(a[0], b[0], "fp8")()
tell([str(product.dtype), apart(backend.values(product), a[1] @ b[1]), apart(backend.values(b[0]), b[1].T)])
"""
    kind, error, turned = inside(python, "jax", lines)
    assert (kind, turned) == ("bfloat16", 0.0)
    assert error < 5e-3


NETWORK = """
from gpudoctor.workers.smoke.network import ArrayNetwork
network = backend.network(Weights(), images, labels)
true = ArrayNetwork(numpy, Weights(), images, labels, numpy.float64)
"""


def test_each_step_of_the_training_is_right(python: str) -> None:
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
    errors = inside(python, "jax", NETWORK + lines)
    assert len(errors) == 5
    assert sorted(errors)[2] < 1e-4
    assert max(errors) < 5e-3  # where two pixels are equal but for rounding, another may be the largest


def test_gradients_in_each_precision_and_scale(python: str) -> None:
    lines = """
right = true.gradients()[1]
def error(precision, scale):
    loss, found = network.gradients(precision, scale)
    return [loss, max(apart(one, other) for one, other in zip(found, right))]
asked = (("fp32", 1.0), ("fp32", 65536.0), ("bf16", 1.0), ("fp16", 1.0), ("fp16", 65536.0))
tell([error(*one) for one in asked] + [true.loss()])
"""
    *found, loss = inside(python, "jax", NETWORK + lines)
    assert [one == pytest.approx(loss, rel=1e-3) for one, _ in found] == [True] * 5
    strict, scaled, bf16, fp16, fp16_scaled = (error for _, error in found)
    assert max(strict, scaled) < 1e-5
    assert 1e-3 < bf16 < 0.1
    assert 1e-4 < fp16 < 2e-2
    assert 1e-4 < fp16_scaled < 2e-2


def test_forward_passes_agree(python: str) -> None:
    lines = """
right = true.predict(7)()
found = backend.values(network.predict(7)())
beside = network.predict_on_cpu(7)()
tell([list(found.shape), apart(found, right), apart(beside, right), type(beside).__name__])
"""
    shape, one, other, kind = inside(python, "jax", NETWORK + lines)
    assert (shape, kind) == ([7, 10], "ndarray")
    assert max(one, other) < 1e-5


def test_what_a_copy_loses_is_seen(python: str) -> None:
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
seen = copies.target.copy(); seen[5] ^= 1
copies.target = seen
tell([right, cleared, lost, copies.differing(), copies.piece(4097, 12345)])
"""
    right, cleared, lost, one, piece = inside(python, "jax", lines)
    assert (right, one, piece) == (0, 1, 0)
    assert min(cleared, lost) > 1_000_000


def test_a_copy_on_the_cpu_is_one(python: str) -> None:
    lines = """
copies = backend.transfer(1 << 20, False)
copies.fill(7)
copies.source = numpy.array(copies.source)
copies.to_device(); copies.to_host()
copies.source[:] ^= 255  # neither the device's array nor the host's may be the same memory
tell([copies.differing(), int((numpy.asarray(copies.between) == copies.source).sum())])
"""
    assert inside(python, "jax", lines) == [1 << 20, 0]


def test_vectors_that_were_not_written_are_wrong(python: str) -> None:
    lines = """
vectors = backend.vectors(5000)
vectors.copy(); vectors.triad()
right = vectors.wrong()
vectors.y = vectors.y.at[17].add(1)
one = vectors.wrong()
vectors.triad()
tell([right, one, vectors.wrong()])
"""
    assert inside(python, "jax", lines) == [0, 1, 2]


PEERS = """
peer = backend.peer(0, 1, 1 << 20)
for _ in range(9): peer.copy()
right = peer.differing()
peer._waiting[-1] = peer._waiting[-1].at[100].add(1)
tell([right, peer.differing(), len(peer._waiting), peer._waiting[-1].devices() == {backend.group()[1]}])
"""


def test_copies_between_two_parts_of_the_cpu(python: str) -> None:
    assert inside(python, "jax", PEERS, tests=["allreduce"]) == [0, 1, 1, True]


def test_pinned_memory_where_this_release_has_it_on_the_cpu(interpreter: Interpreter) -> None:
    lines = """
from gpudoctor.workers.smoke.backends.jax.transfer import PinnedTransfer
copies = PinnedTransfer(backend, 1 << 20)
copies.fill(3)
copies.clear()
cleared = copies.differing()
copies.to_device(); copies.to_host()
kinds = [array.sharding.memory_kind for array in (copies._source, copies.between, copies._target)]
tell([cleared > 1000000, copies.differing(), copies.piece(13, 4097), copies.pinned, kinds])
"""
    found: list[Any] = inside(interpreter(*NEW), "jax", lines)
    assert found == [True, 0, 0, None, ["pinned_host", "device", "pinned_host"]]
