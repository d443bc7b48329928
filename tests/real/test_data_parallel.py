"""A data-parallel step with real frameworks on the CPU: gradients equal one device's, and each fault is found.

Faults are planted where the framework averages: DDP's communication hook, MirroredStrategy's all_reduce, JAX's loss.
"""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudoctor.facts import Smoke, SmokeRun
from tests.builders import ask, change, plain_host
from tests.checks import smoke_machines as m
from tests.checks.smoke.test_split import WRONG
from tests.real.test_jax_backend import NEW as JAX
from tests.real.test_pytorch_backend import TORCH
from tests.real.test_tensorflow_backend import NEW as TENSORFLOW
from tests.smoke.bench_kit import Done
from tests.smoke.xla_kit import inside, worked

pytestmark = [pytest.mark.realenv, pytest.mark.timeout(900)]
Interpreter = Callable[..., str]
ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = {
    "pytorch": ("torchcpu-numpy", TORCH, "numpy"),
    "tensorflow": TENSORFLOW,
    "jax": JAX,
}
TRANSPORT = {"pytorch": "gloo", "tensorflow": "host memory", "jax": "xla"}


@pytest.fixture(params=REQUIREMENTS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def python(backend: str, interpreter: Interpreter) -> str:
    return of(interpreter, backend)


def of(interpreter: Interpreter, backend: str) -> str:
    return interpreter(*REQUIREMENTS[backend])


def finding(done: Done) -> list[tuple[str, str]]:
    """What the check makes of a result."""
    test = m.done("data-parallel", "", done.figures, **done.notes)
    run = SmokeRun(backend="pytorch", kind="cpu", outcome="done", tests=(test,))
    return ask(WRONG, change(plain_host(), "smoke", Smoke(runs=(run,))))


def test_gradients_of_two_replicas_equal_those_of_one(backend: str, python: str) -> None:
    found = worked(python, backend, "data-parallel")
    done = found.only("data-parallel")
    assert done.outcome == "done", done.message
    assert 0 < done.figures["gradient error"] < 1e-5  # 0 would be one device compared with itself
    assert done.figures["step error"] < 1e-4
    assert (done.notes["differing"], done.notes["transport"], done.notes["ranks"]) == (0, TRANSPORT[backend], 2)
    assert finding(done) == [("pass", "")]


def test_jax_sums_between_its_devices(interpreter: Interpreter) -> None:
    lines = """
from gpudoctor.workers.smoke.backends.jax.parallel import ShardedReplicas
from gpudoctor.workers.smoke.weights import Batch
group = ShardedReplicas(backend, backend.group()[:2], Batch(Weights(), images, labels))
program = group.slopes.lower(group.parameters, group.images, group.labels).compile().as_text()
tell(["all-reduce" in program, [list(shard.data.shape) for shard in group.images.addressable_shards]])
"""
    found = inside(of(interpreter, "jax"), "jax", lines, tests=["data-parallel"])
    assert found == [True, [[128, 1, 28, 28], [128, 1, 28, 28]]]


# -- faults -----------------------------------------------------------------------------------------------------

# Lines that run the test beside a backend, and tell its one result.
RUN = """
from gpudoctor.workers.smoke.runner import Bench
from gpudoctor.workers.smoke.tests import data_parallel
class Teller:
    def tell(self, **facts):
        if "result" in facts: tell(facts["result"])
    def full_text(self, error):
        import traceback
        return traceback.format_exc()
data_parallel.run(Bench(Teller(), backend, task))
"""
# A rank whose hook of DistributedDataParallel does something else with its gradients.
HOOKED = """
import importlib.util, sys
sys.path.insert(0, {root!r})
import torch
from gpudoctor.workers.smoke.backends.pytorch import ddp_rank
real = torch.nn.parallel.DistributedDataParallel
def hook(group, bucket):
    mine = bucket.buffer()
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
{before}
    torch.distributed.all_reduce(mine)
    mine /= ranks
{after}
    done = torch.futures.Future()
    done.set_result(mine)
    return done
def hooked(*arguments, **more):
    made = real(*arguments, **more)
    made.register_comm_hook(None, hook)
    return made
torch.nn.parallel.DistributedDataParallel = hooked
ddp_rank.main()
"""
# TensorFlow's all_reduce in a replica: what replica 1 brings or receives is multiplied.
REDUCED = """
tf = backend.tf
real = tf.distribute.ReplicaContext.all_reduce
def reduced(self, how, values, *more):
    first = tf.cast(self.replica_id_in_sync_group == 1, tf.float32)
    found = real(self, how, [value * (1 + first * ({brought} - 1)) for value in values], *more)
    return [value * (1 + first * ({received} - 1)) for value in found]
tf.distribute.ReplicaContext.all_reduce = reduced
"""
# JAX: the images of the second device count so many times; or its copy of the weights is another.
WEIGHED = """
from gpudoctor.workers.smoke.backends.jax import network
jax, jnp = backend.jax, backend.jnp
def loss(self, parameters, images, labels, precision):
    logs = jax.nn.log_softmax(self._logits(parameters, images, precision))
    factor = jnp.where(jnp.arange(len(logs)) < len(logs) // 2, 1.0, {brought}) if len(logs) == 256 and split() else 1.0
    return -jnp.sum((jax.nn.one_hot(labels, 10) * logs).sum(1) * factor) / len(logs)
network.Programs._loss_of = loss
from gpudoctor.workers.smoke.backends.jax import parallel
inner = parallel.ShardedReplicas.copies
import traceback
def split():
    return any(frame.name == "data_parallel" for frame in traceback.extract_stack())
def copies(self, arrays):
    found = inner(self, arrays)
    return [found[0], [array * {received} for array in found[1]]]
parallel.ShardedReplicas.copies = copies
"""


def faulty(backend: str, python: str, place: Path, brought: float = 1, received: float = 1) -> Done:
    """The result where replica 1 brings, or receives, so many times what it should."""
    if backend != "pytorch":
        plant = (REDUCED if backend == "tensorflow" else WEIGHED).format(brought=brought, received=received)
        return Done(inside(python, backend, plant + RUN, tests=["data-parallel"]))
    before, after = (f"    if rank == 1: mine *= {factor}" for factor in (brought, received))
    return with_rank(python, place, HOOKED.format(root=str(ROOT), before=before, after=after))


def with_rank(python: str, place: Path, script: str, more: str = "") -> Done:
    """The result with another script in place of ddp_rank.py."""
    (place / "rank.py").write_text(script)
    plant = f"""
from gpudoctor.workers.smoke.backends.pytorch import ddp, ranks
ddp.SCRIPT = {str(place / "rank.py")!r}
{textwrap.dedent(more)}
"""
    return Done(inside(python, "pytorch", plant + RUN, tests=["data-parallel"]))


# The hardest to find always; tests/smoke/test_data_parallel.py plants the coarse ones without a framework.
@pytest.mark.parametrize(
    ("brought", "words"),
    [
        (0.9, "0.9 times"),
        *(pytest.param(coarse, f"{coarse} times", marks=pytest.mark.nightly) for coarse in (0, 2)),
    ],
)
def test_a_gradient_that_is_lost_or_scaled(
    backend: str, python: str, tmp_path: Path, brought: float, words: str
) -> None:
    done = faulty(backend, python, tmp_path, brought=brought)
    assert done.outcome == "done", done.message
    ((status, message),) = finding(done)
    assert status == "problem"
    assert f"gradients count wrongly in the average: rank 1 {words} instead of once." in message
    assert done.notes["differing"] == 0


def test_a_replica_that_receives_something_else_drifts(backend: str, python: str, tmp_path: Path) -> None:
    done = faulty(backend, python, tmp_path, received=1.5)
    assert done.outcome == "done", done.message
    assert (done.notes["worst_rank"], done.notes["differing_ranks"]) == (1, "1")
    ((status, message),) = finding(done)
    assert status == "problem"
    assert "weights of rank 1 differ from the rest" in message


def test_corrupted_bytes_are_no_share_of_any_gradient(interpreter: Interpreter, tmp_path: Path) -> None:
    before = "    if rank == 1: mine[1000:5000] = 0.25"
    script = HOOKED.format(root=str(ROOT), before=before, after="")
    done = with_rank(of(interpreter, "pytorch"), tmp_path, script)
    ((_, message),) = finding(done)
    assert "no weighting of the ranks' own gradients explains it: data was corrupted on the way" in message


# -- ends -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "outcome", "words"),
    [
        ("SIGSTOP", "hung", "rank 1 did not arrive in stage all-reduce"),
        ("SIGKILL", "failed", "rank 1 died of signal 9"),
    ],
)
def test_a_rank_that_stops_or_is_killed(
    interpreter: Interpreter, tmp_path: Path, name: str, outcome: str, words: str
) -> None:
    pids = tmp_path / "pids"
    pids.mkdir()
    before = f"""\
    import os, signal
    open({str(pids)!r} + "/" + str(os.getpid()), "w").close()
    if rank == 1: os.kill(os.getpid(), signal.{name})"""
    script = HOOKED.format(root=str(ROOT), before=before, after="")
    done = with_rank(of(interpreter, "pytorch"), tmp_path, script, "ranks.JOINING = 5.0")
    assert done.outcome == outcome, done.message
    assert words in done.message
    started = [int(one.name) for one in pids.iterdir()]
    assert len(started) == 2
    assert [pid for pid in started if Path(f"/proc/{pid}").exists()] == []
