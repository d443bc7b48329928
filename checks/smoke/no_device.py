"""A backend found no GPU although the machine has one."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again, updated
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.queries.smoke import OnRun, gpu_runs, quoted, sentence
from gpudoctor.queries.smoke.cause_groups import NOT_RUNNING
from gpudoctor.targets import cards_of, gpus_of
from gpudoctor.tasks import query


def _fixes(on: OnRun) -> tuple[Fix, ...]:
    verify = again(on.run)
    message = "Run the full check: it looks at driver, masks and builds to find out why the framework sees no GPU."
    return (
        Fix(message, (query("gpudoctor", "check"),), impact="none", verify=verify),
        *updated(on.facts, on.run, verify),
    )


@check(
    title="Framework found no GPU although the machine has one",
    severity=Severity.ERROR,
    cause="The framework was asked to use the GPU but reported none: it is built for the CPU or another vendor, a "
    "mask hides the GPU, or the driver denies access.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/notes/cuda.html",),
    targets=gpu_runs,
    caused_by=(*NOT_RUNNING, "health.memory-held"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def no_device(on: OnRun) -> Problem | None:
    """The run reported it before its first test."""
    if on.run.outcome != "unsupported" or not _there(on):
        return None
    message = on.run.message.partition(" reaches no GPU: ")[2] or on.run.message  # do not repeat it
    return Problem(sentence(f"{on.name} found no GPU: {quoted(message)}"))


def _there(on: OnRun) -> bool:
    """Whether there is a GPU of this kind that frameworks support."""
    vendor, able = ("amd", amd_gpus) if on.run.kind == "rocm" else ("nvidia", nvidia_gpus)
    return bool((gpus_of(on.facts, vendor) or cards_of(on.facts, vendor)) and able(on.facts))
