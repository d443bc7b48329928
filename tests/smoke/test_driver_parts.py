"""The parts of the driver's backend, each against NumPy, over a libcuda whose streams run no sooner than they must."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

from gpudoctor.workers.smoke.cuda.arrays import NAN, Array, counted, product
from gpudoctor.workers.smoke.cuda.copies import CudaCopies, Streams
from gpudoctor.workers.smoke.cuda.device import CudaContext
from gpudoctor.workers.smoke.cuda.kernels import SPAN, Launch
from gpudoctor.workers.smoke.cuda.library import CudaError
from gpudoctor.workers.smoke.cuda.network import DeviceNetwork
from gpudoctor.workers.smoke.cuda.peers import DevicePeer
from gpudoctor.workers.smoke.cuda.vectors import CudaVectors
from gpudoctor.workers.smoke.host_math import NumpyHost
from gpudoctor.workers.smoke.network import ArrayNetwork, reference
from gpudoctor.workers.smoke.runner import Unsupported
from gpudoctor.workers.smoke.weights import MLP, Weights
from tests.smoke.driver_kit import libcuda, opened, skip_without_gpu

__all__ = ["libcuda"]


@pytest.fixture(params=["forward", "reverse", pytest.param("real", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[CudaContext]:
    """A device whose streams run the oldest first, one whose streams run the youngest first, and a real one."""
    if request.param == "real":
        skip_without_gpu()
    monkeypatch.setenv("STANDIN_ORDER", request.param)
    with opened(None if request.param == "real" else request.getfixturevalue("libcuda")) as one:
        yield one


@pytest.fixture
def standin(libcuda: str) -> Iterator[CudaContext]:
    with opened(libcuda) as one:
        yield one


def chance(*shape: int) -> Any:
    return numpy.random.default_rng(sum(shape)).standard_normal(shape, dtype=numpy.float32)


def there(device: CudaContext, values: Any) -> Array:
    return Array(device, numpy, values.shape, values)


# -- products ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (256, 784, 64), (10, 37, 65), (129, 15, 127), (128, 16, 256), (3, 300, 5)]
)
def test_a_product_of_any_shape_and_either_way_round(
    device: CudaContext, shape: tuple[int, int, int], turned: tuple[bool, bool]
) -> None:
    rows, depth, columns = shape
    a, b = chance(rows, depth), chance(depth, columns)
    left, right = (a.T.copy() if turned[0] else a), (b.T.copy() if turned[1] else b)
    out = Array(device, numpy, (rows, columns))
    out.fill(NAN)
    product(there(device, left), there(device, right), out, *turned)()
    true = a.astype("float64") @ b.astype("float64")
    assert abs(out.host() - true).max() <= 2e-6 * depth**0.5 * max(1.0, abs(true).max())


def test_a_product_of_shapes_that_do_not_fit_is_refused(device: CudaContext) -> None:
    a, b, c = (Array(device, numpy, shape) for shape in ((3, 4), (5, 6), (3, 6)))
    with pytest.raises(TypeError, match=r"\(3, 4\) x \(5, 6\) is not \(3, 6\)"):
        product(a, b, c)


def test_a_number_that_is_none_stays_in_its_row_and_column(device: CudaContext) -> None:
    a, b = chance(130, 40), chance(40, 130)
    a[7, 3] = numpy.nan
    out = Array(device, numpy, (130, 130))
    product(there(device, a), there(device, b), out)()
    found = out.host()
    assert numpy.isnan(found[7]).all()
    assert numpy.isfinite(numpy.delete(found, 7, 0)).all()


def test_a_kernel_with_too_few_arguments_is_refused(device: CudaContext) -> None:
    with pytest.raises(TypeError, match="copy takes 3 arguments, not 2"):
        Launch(device.cuda, device.kernels, "copy", (1, 1), (0, 0), device.stream)


# -- arrays --------------------------------------------------------------------------------------------------------


def test_a_part_of_a_matrix_is_copied_alone(device: CudaContext) -> None:
    values = chance(20, 30)
    array = there(device, values)
    assert (array[:8, 5:12].host() == values[:8, 5:12]).all()
    assert (array[3:9].host() == values[3:9]).all()
    assert (len(array), len(array[3:9])) == (20, 6)


def test_differing_bits_and_nans_are_counted(device: CudaContext) -> None:
    values = chance(513, 33)
    other = values.copy()
    one = there(device, values)
    assert counted(device, numpy, "unequal", one.elements, one, there(device, other)) == 0
    other.view("uint32")[5, 5] ^= 1
    other[512, 32] = -values[512, 32]
    assert counted(device, numpy, "unequal", one.elements, one, there(device, other)) == 2
    values[0, 0] = numpy.nan
    ill = there(device, values)
    assert counted(device, numpy, "unequal", ill.elements, ill, ill) == 1


def test_zeros_of_both_signs_differ_in_a_bit(device: CudaContext) -> None:
    one, other = (there(device, numpy.full((3, 3), zero, "float32")) for zero in (0.0, -0.0))
    assert counted(device, numpy, "unequal", 9, one, other) == 9


def test_memory_goes_back(standin: CudaContext) -> None:
    before = standin.free()
    array = Array(standin, numpy, (1024, 1024))
    assert standin.free() == before - (4 << 20)
    del array
    assert standin.free() == before


def test_more_than_there_is_is_refused_by_name(device: CudaContext) -> None:
    with pytest.raises(CudaError, match=r"^cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY \(out of memory\)$"):
        Array(device, numpy, (1 << 30, 1 << 12))


# -- vectors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("elements", [1, 5, SPAN - 1, SPAN, 3 * SPAN + 7, 65 * SPAN + 4])
def test_vectors_are_copied_added_and_summed_to_the_last_element(device: CudaContext, elements: int) -> None:
    vectors = CudaVectors(device, numpy, elements)
    assert vectors.wrong() == 2 * elements  # nothing was written yet
    vectors.copy()
    vectors.triad()
    vectors.read()
    assert vectors.wrong() == 0


@pytest.mark.parametrize("at", [0, SPAN, 2 * SPAN + 6])
def test_one_wrong_element_of_a_vector_is_counted(device: CudaContext, at: int) -> None:
    vectors = CudaVectors(device, numpy, 2 * SPAN + 7)
    vectors.copy()
    vectors.triad()
    vectors.read()
    device.upload(vectors._y.address + 4 * at, numpy.array([99.0], "float32"))
    assert vectors.wrong() == 1
    device.upload(vectors._x.address + 4 * at, numpy.array([99.0], "float32"))
    vectors.read()
    vectors.triad()
    assert vectors.wrong() == 3  # y, z and one sum


# -- the network ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def weights() -> Weights:
    return Weights(MLP)


@pytest.fixture(scope="module")
def digits() -> tuple[bytes, bytes]:
    draw = numpy.random.default_rng(1)
    return draw.bytes(784 * 100), bytes(at % 10 for at in range(100))


def test_loss_gradients_and_step_are_numpys(device: CudaContext, weights: Weights, digits: tuple[bytes, bytes]) -> None:
    network = DeviceNetwork(device, numpy, weights, *digits)
    true_loss, true = reference(NumpyHost(), weights, *digits)
    loss, found = network.gradients()
    assert abs(loss - true_loss) < 1e-6 * true_loss
    assert tuple(network.names) == weights.names
    for one, other in zip(found, true, strict=True):
        assert one.dtype == "float64"
        assert numpy.linalg.norm(one - other) < 3e-6 * numpy.linalg.norm(other)
    before = network.weights()
    network.update(0.05)
    for was, now, slope in zip(before, network.weights(), true, strict=True):
        assert abs(was - 0.05 * slope - now).max() < 1e-6


def test_twenty_steps_are_numpys(device: CudaContext, weights: Weights, digits: tuple[bytes, bytes]) -> None:
    network = DeviceNetwork(device, numpy, weights, *digits)
    twin = ArrayNetwork(numpy, weights, *digits, numpy.float64)
    for step in range(20):  # 100 images: the fourth step of each round has four of them
        network.train(32, 0.1, step)()
        twin.train(32, 0.1, step)()
    assert abs(network.loss() - twin.loss()) < 1e-5 * twin.loss()


def test_the_losses_of_logits_far_apart_are_finite(device: CudaContext) -> None:
    logits = numpy.array([[1000.0, 0.0, -1000.0], [0.0, 0.0, 0.0]], "float32")
    labels, losses = Array(device, numpy, (2,), numpy.array([2, 1], "int32")), Array(device, numpy, (2,))
    slope = Array(device, numpy, (2, 3))
    device.launch("entropy", (1, 1), there(device, logits), labels, losses, slope, 2, 3)()
    assert losses.host().tolist() == pytest.approx([2000.0, numpy.log(3.0)])
    assert slope.host().ravel().tolist() == pytest.approx([0.5, 0.0, -0.5, 1 / 6, -1 / 3, 1 / 6])


def test_no_relu_hides_a_nan(device: CudaContext) -> None:
    y = there(device, numpy.array([[numpy.nan, -1.0, 2.0]], "float32"))
    device.launch("add_bias", (1, 1), y, there(device, numpy.zeros(3, "float32")), 1, 3, 1)()
    assert numpy.isnan(y.host()[0, 0])
    assert y.host()[0, 1:].tolist() == [0.0, 2.0]


def test_outputs_are_the_cpus(device: CudaContext, weights: Weights, digits: tuple[bytes, bytes]) -> None:
    network = DeviceNetwork(device, numpy, weights, *digits)
    network.train(64, 0.1, 0)()
    logits, on_cpu = network.predict(7)().host(), network.predict_on_cpu(7)()
    assert logits.shape == on_cpu.shape == (7, 10)
    assert abs(logits - on_cpu).max() < 1e-5


@pytest.mark.parametrize(
    "call", [lambda n: n.gradients("bf16"), lambda n: n.gradients("fp32", 8.0), lambda n: n.predict(1, "fp16")]
)
def test_other_precisions_need_a_framework(
    device: CudaContext, weights: Weights, digits: tuple[bytes, bytes], call: Callable[[Any], Any]
) -> None:
    with pytest.raises(Unsupported, match="needs a framework"):
        call(DeviceNetwork(device, numpy, weights, *digits))


# -- copies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pinned", [True, False])
def test_bytes_go_there_and_back(device: CudaContext, pinned: bool) -> None:
    copies = CudaCopies(device, numpy, 70001, pinned)
    assert copies.pinned is pinned
    copies.fill(1)
    copies.clear()
    assert 69000 < copies.differing() < 70001
    copies.to_device()
    copies.to_host()
    assert copies.differing() == 0
    copies.to_host()
    copies.clear()  # not before what was queued
    assert 69000 < copies.differing() < 70001
    assert copies.piece(4097, 33) == 0
    assert 69000 < copies.differing() < 70001 - 32  # the piece alone is there


@pytest.mark.parametrize("lost", ["odd h2d", "odd d2h"])
def test_no_copy_of_a_piece_passes_for_one(libcuda: str, monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    with opened(libcuda) as device:
        copies = CudaCopies(device, numpy, 4096, True)
        copies.fill(1)
        copies.to_device()
        copies.to_host()
        assert copies.differing() == 0
        monkeypatch.setenv("STANDIN_LOSE", lost)
        assert copies.piece(7, 99) > 90


def test_a_refusal_of_pinned_memory_is_a_memory_error(standin: CudaContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_PINNED", "refused")
    with pytest.raises(MemoryError, match="cuMemHostAlloc: CUDA_ERROR_OUT_OF_MEMORY"):
        CudaCopies(standin, numpy, 4096, True)


# -- streams -------------------------------------------------------------------------------------------------------


def test_a_stream_that_waits_for_the_copy_sees_all_of_it(device: CudaContext) -> None:
    streams = Streams(device, numpy, 1 << 20, 4, 2)
    assert streams.engines == 2
    assert [streams.ordered() for _ in range(3)] == [0, 0, 0]


def test_a_stream_that_waits_for_no_event_sees_what_was_there_before(
    libcuda: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(libcuda) as device:
        streams = Streams(device, numpy, 1 << 20, 4, 2)
        assert streams.ordered() == 0
        monkeypatch.setenv("STANDIN_STALE", "1")
        assert streams.ordered() == 1 << 18


def test_copies_both_ways_arrive_beside_products(device: CudaContext) -> None:
    streams = Streams(device, numpy, 4096, 4, 2)
    streams.copy()
    streams.compute(3)
    streams.copy_back()
    streams.wait()
    assert (streams._there.host() == streams._out.bytes.view("float32")).all()
    assert (streams._in.bytes == streams._out.bytes).all()


def test_the_clock_covers_all_streams(device: CudaContext) -> None:
    streams = Streams(device, numpy, 1 << 20, 4, 2)
    seconds = device.elapsed(streams.copy, 2)
    assert 0 < seconds < 1
    found = numpy.frombuffer(numpy.empty(1 << 18, "float32"), "float32").copy()
    device.download(found, streams._there.address)  # without waiting for the copying stream
    assert (found == streams._out.bytes.view("float32")).all()


# -- peers ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def pair(libcuda: str) -> Iterator[tuple[CudaContext, CudaContext]]:
    with opened(libcuda, 1) as other, opened(libcuda, 0) as home:
        yield home, other


@pytest.mark.parametrize("forth", [True, False])
def test_bytes_reach_another_device(pair: tuple[CudaContext, CudaContext], forth: bool) -> None:
    home, other = pair
    peer = DevicePeer(*(pair if forth else (other, home)), home, numpy, 100_001)
    assert peer.can_access is True
    assert peer.differing() == 100_001
    peer.copy()
    peer.wait()
    assert peer.differing() == 0
    assert peer.differing() == 100_001  # what arrived once does not hide a copy that is lost
    Array(home, numpy, (4,))  # our own device is current again


def test_a_lost_end_of_a_copy_between_devices_is_counted(
    pair: tuple[CudaContext, CudaContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_LOSE", "peer")
    peer = DevicePeer(*pair, pair[0], numpy, 1 << 20)
    peer.copy()
    assert 4000 < peer.differing() <= 4096


def test_devices_without_access_copy_by_way_of_the_host(
    pair: tuple[CudaContext, CudaContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STANDIN_NO_PEER", "1")
    peer = DevicePeer(*pair, pair[0], numpy, 4096)
    peer.copy()
    assert (peer.can_access, peer.differing()) == (False, 0)


def test_access_that_is_on_already_is_no_error(pair: tuple[CudaContext, CudaContext]) -> None:
    first, second = (DevicePeer(*pair, pair[0], numpy, 4096) for _ in range(2))
    second.copy()
    assert (first.can_access, second.differing()) == (True, 0)
