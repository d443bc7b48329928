"""Memory requested as pinned is not pinned."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again
from gpudoctor.queries.smoke import OnTests, gpu_tests, sentence
from gpudoctor.targets import on_wsl
from gpudoctor.tasks import Shell, cmd
from gpudoctor.tasks.placeholders import REST


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    verify = again(on.run, "transfer")
    if on_wsl(on.facts):
        message = "Pin less memory at a time: WSL 2 limits pinned memory by design."
        return (Fix(message, (), "change-environment", verify=verify),)
    message = "Raise the locked memory limit (memlock) for this user or container."
    commands = (Shell("ulimit -l"), cmd("docker", "run", "--ulimit", "memlock=-1", REST))
    return (Fix(message, commands, "change-environment", needs="restart of the program", verify=verify),)


@check(
    title="Requested pinned memory is not pinned",
    severity=Severity.WARNING,
    cause="Copies from memory that is not page-locked go through a staging buffer of the driver: they are slower, and "
    "the program waits for them instead of computing meanwhile.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#pinned-memory",
        "https://docs.nvidia.com/cuda/wsl-user-guide/index.html",
    ),
    targets=partial(gpu_tests, name="transfer"),
    caused_by=("host.memory-limit", "health.memory-held"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def memory_not_pinned(on: OnTests) -> Problem | None:
    """What the driver reports about the buffer; a refused allocation is an ADVICE."""
    (test, *_) = on.tests
    if test.notes.get("pinned") is False:
        return Problem(sentence(f"{on.name} requested pinned memory, but the driver reports that it is not pinned."))
    refused = test.notes.get("pinned_refused")
    if not isinstance(refused, str) or test.figure("h2d pinned") is not None:
        return None
    return Problem(sentence(f"{on.name} got no pinned memory: {refused}"), severity=Severity.ADVICE)
