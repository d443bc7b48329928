"""PyTorch over a link and between GPUs, on a GPU that the CPU plays: torch.cuda answers, and does nothing."""

from collections.abc import Callable

import pytest

from tests.smoke.torch_kit import inside

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(600)]
Interpreter = Callable[..., str]

TORCH = "torch==2.13.0+cpu"


@pytest.fixture(scope="module")
def python(interpreter: Interpreter) -> str:
    return interpreter("torchcpu-numpy", TORCH, "numpy")


PLAYED = """
import contextlib, time
class Event:
    def __init__(self, enable_timing=False): pass
    def record(self, stream=None): self.at = time.perf_counter()
    def synchronize(self): pass
    def elapsed_time(self, end): return 1000 * (end.at - self.at)
class Stream:
    def __init__(self, device=None): self.waited = 0
    def synchronize(self): pass
    def wait_event(self, event): self.waited += 1
cuda = torch.cuda
cuda.Event, cuda.Stream, cuda.stream = Event, Stream, lambda stream: contextlib.nullcontext()
cuda.synchronize, cuda.empty_cache = lambda device=None: None, lambda: None
cuda.mem_get_info = lambda device=None: (8 << 30, 8 << 30)
cuda.can_device_access_peer = lambda device, peer: True
cuda.device_count = lambda: 2
real = torch.empty
def empty(*args, pin_memory=False, **kwargs):
    if pin_memory and args[0] > limit:
        raise RuntimeError("CUDA error: out of memory\\nCUDA kernel errors might be asynchronously reported")
    return real(*args, **kwargs)
torch.empty, limit = empty, 64 << 20
backend.kind, backend.engines, backend.capability = "cuda", 2, (9, 0)
from gpudoctor.workers.smoke.runner import Bench
class Teller:
    def __init__(self): self.results = []
    def tell(self, **facts): self.results += [facts["result"]] if "result" in facts else []
    def full_text(self, error): return repr(error)
teller = Teller()
bench = Bench(teller, backend, task)
def ran(name):
    import importlib
    test = importlib.import_module("gpudoctor.workers.smoke.tests." + name)
    test.run(bench)
    figures = [{f["name"]: f["value"] for f in r["figures"]} for r in teller.results]
    return [[r["outcome"], r["message"], r["notes"], f] for r, f in zip(teller.results, figures)]
"""


def test_the_way_of_copies_beside_products(python: str) -> None:
    ((outcome, message, notes, figures),) = inside(python, PLAYED + 'tell(ran("overlap"))')
    assert (outcome, message) == ("done", "")
    assert notes.pop("size") in (64 << 20, 16 << 20, 4 << 20)  # more is refused, and less taken where copies are slow
    assert notes == {"engines": 2, "wrong": 0}
    assert set(figures) == {"copy", "compute", "both", "overlap", "duplex"}


def test_a_stream_that_waits_for_nothing_shows(python: str) -> None:
    lines = """
two = backend.overlap(1 << 20)
right, waited = two.ordered(), two.computing.waited
two.copy = lambda: None
tell([right, waited, two.ordered()])
"""
    right, waited, wrong = inside(python, PLAYED + lines)
    assert (right, waited) == (0, 1)
    assert wrong > 0.99 * (1 << 20)


def test_the_way_of_copies_over_a_link(python: str) -> None:
    ((outcome, message, notes, figures),) = inside(python, PLAYED + 'tell(ran("transfer"))')
    assert (outcome, message) == ("done", "")
    assert (notes["size"], notes["differing"], notes["pieces_differing"]) == (64 << 20, 0, 0)
    assert notes["pinned"] is False  # as the driver says; here nobody pins
    assert set(figures) == {"h2d pinned", "d2h pinned", "h2d pageable", "d2h pageable"}


def test_a_copy_that_is_lost_shows(python: str) -> None:
    lines = """
copies = backend.transfer(1 << 20, True)
copies.fill(1)
copies.to_device(), copies.to_host()
right = [copies.differing(), copies.piece(12289, 4097)]
torch.Tensor.copy_ = lambda self, *args, **kwargs: self
lost = copies.piece(12289, 4097)  # where the right bytes lay before
copies.clear()
copies.to_device(), copies.to_host()
tell([*right, lost, copies.differing()])
"""
    whole, piece, lost_piece, lost_whole = inside(python, PLAYED + lines)
    assert (whole, piece) == (0, 0)
    assert lost_piece > 0.98 * 4097
    assert lost_whole > 0.99 * (1 << 20)


def test_the_way_of_copies_between_gpus(python: str) -> None:
    lines = """
to = torch.Tensor.to
torch.Tensor.to = lambda self, *args, **kwargs: self.clone() if str(args[0]).startswith("cuda:") else to(self, *args)
pair = backend.peer(0, 1, 1 << 20)
before = pair.differing()
pair.copy()
tell([before, pair.differing(), ran("peer")])
"""
    before, after, (there, back) = inside(python, PLAYED + lines)
    assert before > 0.99 * (1 << 20)
    assert after == 0
    for outcome, message, notes, figures in (there, back):
        assert (outcome, message, notes["can_access"], notes["differing"]) == ("done", "", True, 0)
        assert figures["rate"] > 0


# -- Triton, whose kernels its interpreter runs on the CPU ----------------------------------------------------------


@pytest.mark.large
def test_the_triton_kernel(interpreter: Interpreter) -> None:
    triton = interpreter("torchcpu-triton", TORCH, "numpy", "triton")
    lines = """
from gpudoctor.workers.smoke.backends.pytorch.fused import TritonKernel
x = torch.randn(5000)
kernel = TritonKernel(backend, x)
kernel.compile()
tell([kernel.error(), bool((kernel.y == kernel.y).all())])
"""
    error, all_written = inside(triton, lines, TRITON_INTERPRET="1")
    assert 0 < error < 1e-6
    assert all_written
