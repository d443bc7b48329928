"""Kernels cannot be compiled for the occasion."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.environment import install_system
from gpudoctor.fixes.smoke import again, updated
from gpudoctor.queries.smoke import OnRun, called, ended, quoted, sentence, smoke_runs
from gpudoctor.queries.smoke_cause_groups import NOT_RUNNING

_COMPILER = ("C compiler", "gcc", "Python.h", "g++", "cc1plus")


def _fixes(on: OnRun) -> tuple[Fix, ...]:
    verify = again(on.run, "fused")
    said = " ".join(test.message for test in ended(on.run, "failed") if test.name == "fused")
    newer = updated(on.facts, on.run, verify)
    if not any(word in said for word in _COMPILER):
        return newer or (Fix("Look at the framework's own words.", (verify,), impact="none", verify=verify),)
    message = "Install a C compiler and the headers of this Python."
    commands = install_system(on.facts, "gcc", "python3-dev")
    return (Fix(message, commands, "reinstall-package", root=True, verify=verify), *newer)


@check(
    title="Kernels cannot be compiled for the occasion",
    severity=Severity.WARNING,
    cause="torch.compile, Triton and their like compile kernels while the program runs. They need a C compiler, "
    "Python's headers, a cache that can be written, and a GPU that they know.",
    fixes=_fixes,
    references=("https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html",),
    targets=smoke_runs,
    caused_by=(*NOT_RUNNING, "cuda.*", "host.*", "smoke.device-error", "smoke.out-of-memory", "smoke.fails"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def fused_fails(on: OnRun) -> Problem | None:
    """Errors of the tests named fused that are no want of memory and no dead context."""
    tests = [t for t in ended(on.run, "failed") if t.name == "fused" and t.error in (None, "other")]
    if not tests:
        return None
    names = ", ".join(dict.fromkeys(called(test).removeprefix("fused ") for test in tests))
    lines = tests[0].message.strip().splitlines() or ["it said no more"]
    return Problem(
        sentence(f"{on.name} cannot compile a kernel by {names}: {quoted(lines[-1])}"), tuple(lines[:-1][-4:])
    )
