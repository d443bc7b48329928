"""A test could not allocate the memory that it needs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again
from gpudoctor.queries.smoke import OnRun, called, ended, quoted, sentence, smoke_runs
from gpudoctor.tasks import filtered, query


def _fixes(on: OnRun) -> tuple[Fix, ...]:
    tests = (t.name for t in ended(on.run, "failed", "died") if t.error == "out-of-memory")
    verify = again(on.run, *tests)
    if on.run.outcome == "died" or on.run.kind == "cpu" or ended(on.run, "died"):
        commands = (query("free", "-h"), filtered(query("dmesg", root=True), query("grep", "-i", "out of memory")))
        message = "See what uses the machine's memory, and raise the limit of the container or job."
        return (Fix(message, commands, "change-environment", verify=verify),)
    look = query("amd-smi", "process") if on.run.kind == "rocm" else query("nvidia-smi")
    return (
        Fix(
            "See which processes use the GPU's memory, and stop forgotten ones.", (look,), impact="none", verify=verify
        ),
    )


@check(
    title="A smoke test ran out of memory",
    severity=Severity.ERROR,
    cause="The tests use a quarter of the free memory, at most 2 GiB. If even that fails, other processes use nearly "
    "all of it, or a limit is set.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management",),
    targets=smoke_runs,
    caused_by=(
        "health.memory-held",
        "health.stuck-process",
        "host.memory-limit",
        "host.out-of-memory-kills",
        "smoke.busy",
    ),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def out_of_memory(on: OnRun) -> Problem | None:
    """Refused by the device, or the kernel killed the process for it."""
    tests = [t for t in ended(on.run, "failed", "died") if t.error == "out-of-memory"]
    if tests:
        names = ", ".join(dict.fromkeys(called(test) for test in tests))
        return Problem(sentence(f"{on.name} ran out of memory in {names}: {_first(tests[0].message)}"))
    if on.run.error != "out-of-memory" or on.run.outcome not in ("failed", "died"):
        return None
    return Problem(sentence(f"{on.name} ran out of memory in stage {on.run.stage}: {_first(on.run.message)}"))


def _first(message: str) -> str:
    """The first line of an error message."""
    return quoted((message.strip().splitlines() or [""])[0])
