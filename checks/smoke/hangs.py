"""A test did not finish."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import SmokeRun
from gpudoctor.fixes.reset import reset
from gpudoctor.fixes.smoke import again, between
from gpudoctor.parsers.crash_output import dying_words
from gpudoctor.queries.smoke import OnRun, called, ended, sentence, smoke_runs
from gpudoctor.queries.smoke.cause_groups import MEMORY, NOT_RUNNING
from gpudoctor.tasks import filtered, query
from gpudoctor.tasks.placeholders import PID


def _fixes(on: OnRun) -> tuple[Fix, ...]:
    tests = [test.name for test in ended(on.run, "hung")]
    verify = again(on.run, *tests)
    if on.run.kind == "cpu":
        message = "Run it again; if it hangs again, find out where in a second terminal."
        return (Fix(message, (verify, query("py-spy", "dump", "--pid", PID)), impact="none", verify=verify),)
    path = between(on.run, *tests)
    log = (
        filtered(query("dmesg", root=True), query("tail", "-n", "50"))
        if on.run.kind == "rocm"
        else filtered(query("dmesg", root=True), query("grep", "-iE", "xid|nvrm"), query("tail", "-n", "20"))
    )
    look = Fix("Check what the driver logged meanwhile in the kernel log.", (log,), root=True, impact="none")
    message = "Stop the processes that use the GPU and reset it; if a process cannot be killed, reboot."
    which = (on.gpu.index,) if on.gpu else ()
    commands = reset(on.facts, *which) if on.run.kind == "cuda" else ()
    return *path, look, Fix(message, commands, "reset-gpu", root=True, impact="data loss", verify=verify)


@check(
    title="A smoke test hung",
    severity=Severity.ERROR,
    cause="The driver, the GPU or the framework did not respond before the deadline, and the process was killed. A "
    "GPU that hangs in the driver stays hung until it is reset.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/deploy/xid-errors/index.html",),
    targets=smoke_runs,
    caused_by=(*NOT_RUNNING, *MEMORY, "health.overheated", "smoke.uncorrected-ecc", "smoke.device-error"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def hangs(on: OnRun) -> Problem | None:
    """A test, or the import or start before the tests."""
    hung = ended(on.run, "hung")
    if hung:
        names = ", ".join(dict.fromkeys(called(test) for test in hung))
        return Problem(sentence(f"{on.name} hung in {names}: {_text(hung[0].message)}"), _stderr(on.run))
    if on.run.outcome != "hung":
        return None
    return Problem(sentence(f"{on.name} hung in stage {on.run.stage}: {_text(on.run.message)}"), _stderr(on.run))


def _text(message: str) -> str:
    return message or "it did not respond."


def _stderr(run: SmokeRun) -> tuple[str, ...]:
    return dying_words(run.stderr, 3)
