"""PyTorch's smoke tests on the CPU, with a real PyTorch: they measure right, leave no trace, and end when asked to."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.smoke.torch_kit import WORKER, by_variant, inside, task, worker

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(600)]
Interpreter = Callable[..., str]

TORCH = "torch==2.13.0+cpu"


@pytest.fixture(scope="module")
def python(interpreter: Interpreter) -> str:
    return interpreter("torchcpu-numpy", TORCH, "numpy")


@pytest.fixture
def without_numpy(tmp_path: Path) -> dict[str, str]:
    """Variables under which NumPy is missing, as in an environment that holds PyTorch alone."""
    (tmp_path / "numpy.py").write_text("raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')")
    return {"PYTHONPATH": str(tmp_path)}


# -- the tests as a worker runs them ------------------------------------------------------------------------------


def products_and_step(found: list[Any]) -> None:
    """What matmul and mnist must tell on the CPU."""
    products = by_variant(found, "matmul")
    assert products["fp32"].outcome == "done"
    assert 0 < products["fp32"].figures["error"] < 1e-6
    assert products["fp32"].notes["part_error"] < 1e-6
    assert products["fp32"].notes["not_finite"] == products["fp32"].notes["not_repeated"] == 0
    assert products["bf16"].outcome == "unsupported" or 1e-3 < products["bf16"].figures["error"] < 3e-3
    assert products["tf32"].message == "TF32 is a format of NVIDIA's GPUs, and this is the CPU."
    assert products["fp8"].outcome == "unsupported"
    (step,) = by_variant(found, "mnist").values()
    assert step.outcome == "done"
    assert 0 < step.figures["gradient error"] < 1e-4
    assert step.figures["loss error"] < 1e-5
    assert step.figures["step error"] < 1e-4
    assert step.figures["descent"] == pytest.approx(1.0, abs=0.05)
    assert step.notes["not_repeated"] == 0


def test_products_and_a_training_step(python: str) -> None:
    products_and_step(worker(python, "matmul mnist"))


def test_the_same_without_numpy(python: str, without_numpy: dict[str, str]) -> None:
    products_and_step(worker(python, "matmul mnist", env=without_numpy))


def test_copies_vectors_and_forward_passes(python: str) -> None:
    found = worker(python, "transfer overlap bandwidth inference peer")
    (copies,) = by_variant(found, "transfer").values()
    assert (copies.outcome, list(copies.figures)) == ("done", ["copy"])
    assert (copies.notes["differing"], copies.notes["pieces_differing"], copies.notes["pinned"]) == (0, 0, None)
    assert by_variant(found, "overlap")[""].outcome == by_variant(found, "peer")[""].outcome == "unsupported"
    assert by_variant(found, "bandwidth")[""].notes["wrong"] == 0
    assert by_variant(found, "inference")["fp32"].figures["error"] < 1e-5


@pytest.mark.parametrize("numpy", [True, False])
def test_two_processes_sum(python: str, numpy: bool, without_numpy: dict[str, str]) -> None:
    (done,) = worker(python, "allreduce", env={} if numpy else without_numpy)
    assert done.outcome == "done", done.message
    assert done.notes == {"ranks": 2, "transport": "gloo", "wrong": 0, "bytes": 4 << 20}
    assert done.figures["time"] > 0


def test_a_compiled_kernel_leaves_nothing_behind(python: str, tmp_path: Path) -> None:
    (done,) = worker(python, "fused", env={"TMPDIR": str(tmp_path), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "mine")})
    assert (done.outcome, done.variant) == ("done", "torch.compile"), done.message
    assert 0 < done.figures["error"] < 1e-6
    assert done.figures["compile"] > 0.1
    assert list(tmp_path.iterdir()) == []


def test_no_compiler_is_told_in_pytorchs_words(python: str, tmp_path: Path) -> None:
    (done,) = worker(python, "fused", env={"PATH": str(tmp_path)})
    assert done.outcome == "failed"
    assert "InvalidCxxCompiler: No working C++ compiler found" in done.message


@pytest.mark.large
def test_the_oldest_release_for_this_python(interpreter: Interpreter) -> None:
    old = interpreter("torch113", "torch==1.13.1", "numpy<2", "setuptools")
    found = worker(old, "matmul mnist transfer inference mixed-precision allreduce fused")
    products_and_step(found)
    assert by_variant(found, "matmul")["fp16"].message == (
        "PyTorch has no matmul in fp16 on the CPU: \"addmm_impl_cpu_\" not implemented for 'Half'."
    )
    assert by_variant(found, "mixed-precision")["bf16"].outcome == "done"
    assert by_variant(found, "allreduce")[""].notes["wrong"] == 0
    assert by_variant(found, "fused")[""].message == "PyTorch has torch.compile from 2.0 on, and this is 1.13.1+cu117."


# -- what the parts say -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layers", ["CNN", "MLP"])
def test_the_reference_is_numpys(python: str, layers: str) -> None:
    lines = f"""
from gpudoctor.workers.smoke.network import reference
from gpudoctor.workers.smoke.host_math import NumpyHost
weights = Weights({layers})
loss, found = backend.reference(weights, images, labels)
true_loss, true = reference(NumpyHost(), weights, images, labels)
def off(one, other): return float(((one - other) ** 2).sum() ** 0.5 / (other ** 2).sum() ** 0.5)
tell([abs(loss - true_loss) / true_loss, *map(off, found, true)])
"""
    errors = inside(python, lines)
    assert len(errors) == (9 if layers == "CNN" else 5)
    assert max(errors) < 1e-10


def test_images_have_the_same_bits_everywhere(python: str) -> None:
    lines = """
import numpy
from gpudoctor.workers.smoke.backends.pytorch.network import batch
from gpudoctor.workers.smoke.network import _batch
pictures, classes = batch(torch, images, labels)
same, numbers = _batch(numpy, images, labels, numpy.float32)
tell([pictures.numpy().tobytes() == same.tobytes(), classes.tolist() == numbers.tolist()])
"""
    assert inside(python, lines) == [True, True]


def test_switches_are_set_and_put_back_without_a_warning(python: str) -> None:
    lines = """
warnings.simplefilter("error")
backend.lacks = lambda dtype: ""
matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
def seen():
    return [matmul.fp32_precision, cudnn.conv.fp32_precision, cudnn.benchmark, cudnn.deterministic,
            matmul.allow_bf16_reduced_precision_reduction]
cudnn.benchmark = True
found = [seen()]
for dtype in ("fp32", "tf32"):
    with backend.precision(dtype):
        found.append(seen())
tell([*found, seen(), matmul.allow_tf32, cudnn.allow_tf32])
"""
    before = ["none", "tf32", True, False, True]
    inner = [[precision, precision, False, True, False] for precision in ("ieee", "tf32")]
    assert inside(python, lines) == [before, *inner, before, False, True]


@pytest.mark.parametrize(
    ("dtype", "one", "other", "unequal"),
    [
        ("float32", [1.0, 2.0], [1.0, 2.0], 0),
        ("float32", [0.0, 2.0], [-0.0, 3.0], 2),
        ("bfloat16", [1.0, float("nan")], [1.0, float("nan")], 1),
        ("float16", [1.0, 2.0], [1.0009765625, 2.0], 1),
    ],
)
def test_elements_that_differ(python: str, dtype: str, one: list[float], other: list[float], unequal: int) -> None:
    lines = f"""
nan = float("nan")
tell(backend.unequal(*(torch.tensor(values, dtype=torch.{dtype}) for values in ({one}, {other}))))
"""
    assert inside(python, lines) == unequal


def test_fp8_is_laid_out_as_pytorch_wants_it(python: str) -> None:
    lines = """
host = backend.host
a, a64 = backend.operand(host.normal(64, 64, 1), "fp8", "a")
b, b64 = backend.operand(host.normal(64, 64, 2), "fp8", "b")
product = backend.multiply(a, b, "fp8")
found = backend.values(product())
true = a64 @ b64
tell([list(a.stride()), list(b.stride()), float(host.norm(found - true) / host.norm(true)), float(abs(a64).max())])
"""
    a, b, error, largest = inside(python, lines)
    assert (a, b) == ([64, 1], [1, 64])
    assert 1e-4 < error < 1e-2
    assert largest in (3.5, 3.75, 4.0, 4.5)  # rounded to a number of e4m3


@pytest.mark.parametrize("numpy", [True, False])
def test_mixed_precision_is_taken_and_unscaled(python: str, numpy: bool, without_numpy: dict[str, str]) -> None:
    lines = """
backend.lacks = lambda dtype: ""
def off(precision, scale):
    network = backend.network(Weights(CNN), images, labels)
    found = network.gradients(precision, scale)[1]
    return max(backend.host.norm(a - b) / backend.host.norm(b) for a, b in zip(found, true))
true = backend.reference(Weights(CNN), images, labels)[1]
tell([off("fp32", 1.0), off("fp32", 2.0 ** 16), off("fp16", 2.0 ** 10), off("bf16", 1.0)])
"""
    fp32, scaled, fp16, bf16 = inside(python, lines, **({} if numpy else without_numpy))
    assert max(fp32, scaled) < 1e-5
    assert 1e-4 < fp16 < bf16 < 0.2


def test_training_goes_through_the_images_again_and_again(python: str) -> None:
    lines = """
def after(*steps):
    network = backend.network(Weights(CNN), images, labels)
    for step in steps:
        network.train(64, 0.05, step)()
    return network.weights()
def apart(one, other):
    return max(float(abs(a - b).max()) for a, b in zip(one, other))
first = after(0)
tell([apart(first, after(4)), apart(first, after(1)), apart(first, after())])
"""
    again, others, untrained = inside(python, lines)
    assert again == 0.0
    assert min(others, untrained) > 1e-5


def test_predictions_are_of_the_weights_at_that_time(python: str) -> None:
    lines = """
network = backend.network(Weights(CNN), images, labels)
before, on_cpu = network.predict(8), network.predict_on_cpu(8)
first = backend.values(before())
network.train(64, 0.1, 0)()
tell([list(first.shape), *(float(abs(backend.values(now()) - first).max()) for now in (before, network.predict(8))),
      float(abs(on_cpu() - first).max())])
"""
    shape, kept, trained, cpu = inside(python, lines)
    assert shape == [8, 10]
    assert kept == cpu == 0.0
    assert trained > 1e-4


# -- ending -------------------------------------------------------------------------------------------------------


def test_a_rank_that_has_answered_stays_for_the_others(python: str) -> None:
    lines = """
from gpudoctor.workers.smoke.backends.pytorch.ranks import Rank, end, free_port, gathered
import time
rank = Rank(0, 1, "gloo", 4096, free_port())
(told,) = gathered([rank], lambda: None)
time.sleep(0.5)  # in older releases the others wait for ever for one that has gone
stays = rank.process.poll() is None
end([rank])
tell([stays, rank.process.returncode, told["wrong"], len(told["seconds"])])
"""
    assert inside(python, lines) == [True, 0, 0, 10]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize(("test", "after"), [("allreduce", 0.3), ("allreduce", 1.5), ("data-parallel", 4.0)])
def test_no_rank_is_left(python: str, how: signal.Signals, test: str, after: float, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [python, str(WORKER)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "HOME": str(tmp_path)},
        text=True,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(task("cpu", tests=[test])))
    process.stdin.close()
    for line in process.stdout:
        if f'"stage": "{test}"' in line:
            break
    time.sleep(after)  # while the ranks import PyTorch, or sum
    begun = time.monotonic()
    process.send_signal(how)
    process.wait(10)
    process.stdout.close()
    while living(process.pid) and time.monotonic() - begun < 10:
        time.sleep(0.05)
    assert living(process.pid) == []
    assert time.monotonic() - begun < 5


def living(group: int) -> list[str]:
    """The processes of a group that are not dead."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, leader = place.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(leader) == group and state != "Z":
            found.append(place.parent.name)
    return found
