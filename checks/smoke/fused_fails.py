"""JIT compilation of kernels fails."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.smoke import again, updated
from gpudoctor.queries.smoke import OnRun, called, ended, quoted, sentence, smoke_runs
from gpudoctor.queries.smoke.cause_groups import NOT_RUNNING

_COMPILER = ("C compiler", "gcc", "Python.h", "g++", "cc1plus")


def _fixes(on: OnRun) -> tuple[Fix, ...]:
    verify = again(on.run, "fused")
    errors = " ".join(test.message for test in ended(on.run, "failed") if test.name == "fused")
    newer = updated(on.facts, on.run, verify)
    if not any(word in errors for word in _COMPILER):
        return newer or (Fix("Read the framework's error message.", (verify,), impact="none", verify=verify),)
    message = "Install a C compiler and this Python's development headers."
    commands = install_system(on.facts, "gcc", "python3-dev")
    return (Fix(message, commands, "reinstall-package", root=True, verify=verify), *newer)


@check(
    title="JIT compilation of kernels fails (torch.compile, Triton)",
    severity=Severity.WARNING,
    cause="torch.compile, Triton and similar compilers build kernels at run time. They need a C compiler, Python.h, a "
    "writable cache directory, and a GPU that they support.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html",),
    targets=smoke_runs,
    caused_by=(*NOT_RUNNING, "cuda.*", "host.*", "smoke.device-error", "smoke.out-of-memory", "smoke.fails"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def fused_fails(on: OnRun) -> Problem | None:
    """Errors of the fused tests that are neither out of memory nor a dead context."""
    tests = [t for t in ended(on.run, "failed") if t.name == "fused" and t.error in (None, "other")]
    if not tests:
        return None
    names = ", ".join(dict.fromkeys(called(test).removeprefix("fused ") for test in tests))
    lines = tests[0].message.strip().splitlines() or ["no error message"]
    return Problem(
        sentence(f"{on.name} cannot compile a kernel with {names}: {quoted(lines[-1])}"), tuple(lines[:-1][-4:])
    )
