"""All-reduce over GPUs is slow."""

from functools import partial

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeTest
from gpudoctor.fixes.smoke import again
from gpudoctor.maybe import UnknownFactError
from gpudoctor.queries.smoke import OnTests, each, gpu_tests, sentence
from gpudoctor.queries.smoke.speed import ALLREDUCE, share
from gpudoctor.tasks import filtered, query

_OVER_LINKS = ("nccl", "rccl")  # transports that use the links between GPUs


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    verify = again(on.run, "allreduce", "peer")
    message = "See which path NCCL uses, and check the links; variables that disable paths slow it down."
    commands = (
        msgspec.structs.replace(verify, env=(("NCCL_DEBUG", "INFO"),)),
        filtered(query("env"), query("grep", "NCCL_")),
        query("nvidia-smi", "nvlink", "--status"),
    )
    return (Fix(message, commands, impact="none", verify=verify),)


def _slow(on: OnTests, test: SmokeTest) -> tuple[Severity, str] | None:
    if test.notes.get("transport") not in _OVER_LINKS:
        raise UnknownFactError("the all-reduce did not use the links between GPUs")
    reached = share(on.on, test, "bus rate")
    severity = ALLREDUCE.severity(reached.part) if reached else None
    return (severity, reached.words) if reached and severity else None


@check(
    title="All-reduce is slower than NVLink allows",
    severity=Severity.ERROR,
    cause="NVLink switches connect the GPUs, but the all-reduce takes much longer than the links need: NCCL uses "
    "another path, or a link is down.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md",
        "https://github.com/Azure/azurehpc-health-checks",
    ),
    targets=partial(gpu_tests, name="allreduce", figure="bus rate"),
    caused_by=(
        "smoke.busy",
        "link.nvlink-down",
        "device.nvlink-fault",
        "fabric.*",
        "smoke.corrupted-peer",
        "smoke.slow-peer",
        "smoke.wrong-sum",
    ),
    affects=("several-gpus", "everything"),
    validated_on=("table 2026-11",),
)
def slow_allreduce(on: OnTests) -> Problem | None:
    """The bus bandwidth compared with all NVLinks of one GPU."""
    found = each(on.tests, lambda test: _slow(on, test))
    if not found:
        return None
    severity, text = found[0]
    return Problem(sentence(f"{on.name} has a slow all-reduce: {text} bus bandwidth."), severity=severity)
