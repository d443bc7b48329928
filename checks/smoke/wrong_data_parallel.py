"""A data-parallel training step is wrong."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again, hardware, paths, routing, updated
from gpudoctor.lazy_regex import pattern
from gpudoctor.queries.smoke import OnTests, count, many, noted, sentence, smoke_tests
from gpudoctor.queries.smoke.cause_groups import wrong_before
from gpudoctor.queries.smoke.training import GRADIENT, GRAVE, STEP
from gpudoctor.tasks import query

# Of the average, relative: what no share of the ranks' gradients explains was corrupted, or mixed with something else.
_CORRUPTED = 1e-2
_NO_NUMBER = 1e9  # stands for NaN and infinity (gpudoctor/workers/smoke/runner.py)
# How far from 1 the share of a rank's gradient is suspicious; rounding moves it by 1e-5.
_SHARE = 1e-2
_NUMBER = pattern(r"-?\d+(\.\d+)?(e[-+]\d+)?")


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    (test, *_) = on.tests
    verify = again(on.run, "data-parallel")
    if on.run.kind == "cpu":
        return (*hardware(on.facts, on.run, None), *updated(on.facts, on.run, verify))
    devices = _devices(test)
    alone = [
        Fix(
            f"Test the GPU of {_rank(test, rank)} by itself: if it computes wrongly, that is the cause.",
            (query("gpudoctor", "smoke", "matmul", "mnist", "--device", devices[rank], "--backend", on.run.backend),),
            impact="none",
            verify=verify,
        )
        for rank in _suspects(test)
        if rank < len(devices)
    ]
    return (*alone[:2], paths(on.run, "data-parallel", "allreduce", "peer"), *routing(verify))


def _devices(test: SmokeTest) -> list[str]:
    """What the GPUs of the ranks are called, in the order of the ranks; empty where the test does not say."""
    return str(test.notes.get("devices") or "").split()


def _rank(test: SmokeTest, rank: int) -> str:
    """A rank with its GPU: "rank 1 (GPU 3)"."""
    devices = _devices(test)
    return f"rank {rank} (GPU {devices[rank]})" if rank < len(devices) else f"rank {rank}"


def _numbers(test: SmokeTest, note: str) -> list[float]:
    """The numbers of a note, separated by spaces; empty where it holds none, or anything else."""
    words = str(test.notes.get(note) or "").split()
    return [float(word) for word in words] if all(_NUMBER.fullmatch(word) for word in words) else []


def _shares(test: SmokeTest) -> list[float]:
    """How often the gradient of each rank counts in the average; empty where nothing of the kind explains it."""
    if (noted(test, "unexplained") or 0) > _CORRUPTED:
        return []
    return _numbers(test, "shares")


def _odd(test: SmokeTest) -> list[int]:
    """The ranks whose weights differ after the step."""
    return [int(rank) for rank in _numbers(test, "differing_ranks")]


def _suspects(test: SmokeTest) -> list[int]:
    """The ranks to look at: those whose gradient does not count once, unless all do not, and those that drifted."""
    shares = _shares(test)
    wrong = [rank for rank, share in enumerate(shares) if abs(share - 1) > _SHARE]
    return sorted({*(wrong if len(wrong) < len(shares) else ()), *_odd(test)})


def _gradients(test: SmokeTest) -> str | None:
    error = test.figure("gradient error")
    if error is None or error <= GRADIENT:
        return None
    worst, name = noted(test, "worst_rank"), test.notes.get("worst_gradient") or "a parameter"
    where = f"{name} on {_rank(test, int(worst))}" if worst is not None else f"{name}"
    if error >= _NO_NUMBER:
        return f"averaged gradients are not finite ({where})"
    text = f"averaged gradients differ from those of one device by {error:.1e} ({where}); rounding explains at most "
    return f"{text}{GRADIENT:.0e}" + _counted(test)


def _counted(test: SmokeTest) -> str:
    """How often the gradient of which rank counts, in a clause."""
    shares, ranks = _shares(test), count(test, "ranks")
    if shares and all(abs(share - ranks) < ranks * _SHARE for share in shares):
        return f", and the gradients of {ranks} ranks are summed, but not divided by {ranks}"
    odd = [f"{_rank(test, at)} {share:.3g} times" for at, share in enumerate(shares) if abs(share - 1) > _SHARE]
    if odd:
        return f", and gradients count wrongly in the average: {', '.join(odd)} instead of once"
    if (noted(test, "unexplained") or 0) > _CORRUPTED:
        return ", and no weighting of the ranks' own gradients explains it: data was corrupted on the way"
    return ""


def _drifted(test: SmokeTest) -> str | None:
    number, odd = count(test, "differing"), _odd(test)
    if not number:
        return None
    names = " and ".join(_rank(test, rank) for rank in odd)
    return (
        f"after one step {many(number, 'weight')} of {names or 'some ranks'} differ{'s' * (number == 1)} from the rest"
    )


def _step(test: SmokeTest) -> str | None:
    error = test.figure("step error")
    if error is None or error <= STEP:
        return None
    return f"the weight update does not match the averaged gradient: off by {error:.1e}"


@check(
    title="Wrong data-parallel training step",
    severity=Severity.ERROR,
    cause="Data-parallel training averages the gradients of all devices, so one step on a split batch must equal the "
    "step of one device on the whole batch, and all replicas must stay identical. Here an all-reduce lost, scaled or "
    "corrupted gradients: training on several devices silently learns something else.",
    fixes=_fixes,
    references=(
        "https://docs.pytorch.org/docs/stable/notes/ddp.html",
        "https://www.tensorflow.org/guide/distributed_training",
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
    ),
    targets=partial(smoke_tests, name="data-parallel", figure="gradient error"),
    caused_by=(
        *wrong_before("smoke.wrong-mixed-precision"),
        "smoke.corrupted-peer",
        "smoke.wrong-sum",
        "device.nvlink-fault",
        "fabric.*",
        "link.peers-redirected",
    ),
    affects=("several-gpus", "everything"),
    validated_on=("table 2026-11",),
)
def wrong_data_parallel(on: OnTests) -> Problem | None:
    """Averaged gradients, the update, and the replicas' weights."""
    (test, *_) = on.tests
    found = list(filter(None, (_gradients(test), _step(test), _drifted(test))))
    if not found:
        return None
    only_imprecise = len(found) == 1 and GRADIENT < (test.figure("gradient error") or 0) <= GRAVE
    over = f"over {count(test, 'ranks')} ranks with {test.notes.get('transport') or 'an unknown transport'}"
    message = sentence(f"{on.name} trains wrongly {over}: {'; '.join(found)}.")
    return Problem(message, severity=Severity.WARNING if only_imprecise else None)
