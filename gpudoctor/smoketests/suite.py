"""The smoke tests by name: what each shows, how long it may take, and which are run when nobody chooses."""

from typing import NamedTuple


class Test(NamedTuple):
    """One smoke test.

    Attributes:
        name: as the user types it; its file is gpudoctor/workers/smoke/tests/<name>.py.
        shows: what it shows, for people.
        seconds: after which one stage of it (one data type) counts as hung. On an H100 all but stress take less than
            three; the deadlines leave room for loading libraries from a cold disk and compiling kernels.
        quick: part of the quick suite.
        between: it runs between GPUs, so once for all of them.
    """

    name: str
    shows: str
    seconds: float
    quick: bool = True
    between: bool = False


COMPARE = "compare"  # runs on the CPU too, wherever it runs on a GPU
TESTS = (
    Test("matmul", "correct in each data type, and how fast", 60),
    Test("mnist", "training step: correct loss and gradients, the loss falls", 90),
    Test("transfer", "host-device copies: intact, and how fast", 45),
    Test("overlap", "copies overlap with compute", 30),
    Test("mixed-precision", "training step in bf16 or fp16", 45),
    Test("fused", "JIT-compiled kernels: they compile, agree, and are faster", 120, quick=False),
    Test("bandwidth", "device memory bandwidth", 30),
    Test("inference", "inference on the GPU vs. the CPU at batch 1 and 256", 60),
    Test("peer", "GPU-to-GPU copies: intact, and how fast", 90, quick=False, between=True),
    Test("allreduce", "all-reduce over all GPUs: exact, and how fast", 90, quick=False, between=True),
    Test(
        "data-parallel", "training step over all GPUs (DDP): gradients equal one GPU's", 90, quick=False, between=True
    ),
    Test("stress", "the same matmul for some seconds: equal bit for bit, clocks", 30, quick=False),
    Test(COMPARE, "GPU vs. CPU: matmul, training, inference, data loading", 60, quick=False),
)
BY_NAME = {test.name: test for test in TESTS}
# Stages before the tests. A first import from a cold disk took 18 s (TensorFlow 2.21); a context takes one second, and
# on a machine with eight GPUs without persistence mode half a minute.
STAGES = {"import": 90.0, "start": 60.0}
STRESS_SECONDS, MOST_STRESS = 10, 600
DTYPES = ("fp32", "tf32", "fp16", "bf16", "fp8")


def deadline(stage: str, stress: float = STRESS_SECONDS) -> float:
    """The seconds that a stage may take without telling anything.

    Args:
        stage: import, start, or the name of a test.
        stress: seconds of stress that were asked for.
    """
    if stage == "stress":
        return BY_NAME[stage].seconds + stress
    return STAGES.get(stage) or (BY_NAME[stage].seconds if stage in BY_NAME else 30.0)
