"""A backend reached no GPU although the machine has one."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again, updated
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.queries.smoke import OnRun, gpu_runs, quoted, sentence
from gpudoctor.queries.smoke_cause_groups import NOT_RUNNING
from gpudoctor.targets import cards_of, gpus_of
from gpudoctor.tasks import query


def _fixes(on: OnRun) -> tuple[Fix, ...]:
    verify = again(on.run)
    message = "Find out what keeps the framework from the GPU; the whole diagnosis looks at driver, masks and builds."
    return (
        Fix(message, (query("gpudoctor", "check"),), impact="none", verify=verify),
        *updated(on.facts, on.run, verify),
    )


@check(
    title="A framework reached no GPU, though the machine has one",
    severity=Severity.ERROR,
    cause="The framework was asked to use the GPU and said that it has none: it is built for the CPU or another "
    "vendor, a mask hides the GPU, or the driver refuses.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/notes/cuda.html",),
    targets=gpu_runs,
    caused_by=(*NOT_RUNNING, "health.memory-held"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def no_device(on: OnRun) -> Problem | None:
    """The run said before its first test that it cannot."""
    if on.run.outcome != "unsupported" or not _there(on):
        return None
    message = on.run.message.partition(" reaches no GPU: ")[2] or on.run.message  # said once is enough
    return Problem(sentence(f"{on.name} reached no GPU: {quoted(message)}"))


def _there(on: OnRun) -> bool:
    """Whether a GPU of the kind is there that frameworks have code for."""
    vendor, able = ("amd", amd_gpus) if on.run.kind == "rocm" else ("nvidia", nvidia_gpus)
    return bool((gpus_of(on.facts, vendor) or cards_of(on.facts, vendor)) and able(on.facts))
