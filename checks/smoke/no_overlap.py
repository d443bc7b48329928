"""Copies do not overlap with compute."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again, unset
from gpudoctor.maybe import UnknownFactError
from gpudoctor.queries.smoke import OnTests, gpu_tests, noted, sentence
from gpudoctor.queries.smoke.speed import idle
from gpudoctor.targets import on_wsl
from gpudoctor.tasks import filtered, query

_GOOD, _NONE = 0.80, 0.40
_BLOCKING = ("CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "AMD_SERIALIZE_COPY")


def _set(on: OnTests) -> list[str]:
    environment = on.facts.host.environment
    return [name for name in _BLOCKING if environment.get(name, "0") not in ("", "0")]


def _fixes(on: OnTests) -> tuple[Fix, ...]:
    verify = again(on.run, "overlap")
    found = [unset(on.facts, name, "it makes every call wait for the GPU (for debugging)", verify) for name in _set(on)]
    message = "Find out what makes calls blocking: an attached profiler or debugger, or a debug variable."
    return tuple(found) or (
        Fix(message, (filtered(query("env"), query("grep", "-E", "CUDA|HIP|AMD_")),), impact="none", verify=verify),
    )


@check(
    title="Copies do not overlap with compute",
    severity=Severity.WARNING,
    cause="A copy on one stream and a matmul on another took nearly as long as both in sequence: something makes "
    "calls wait for the GPU. Loading data then costs extra time.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#asynchronous-concurrent-execution",
        "https://discuss.pytorch.org/t/cuda-launch-blocking-1-reduces-the-training-speed/160924",
    ),
    targets=partial(gpu_tests, name="overlap", figure="overlap"),
    caused_by=("smoke.memory-not-pinned", "smoke.busy"),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def no_overlap(on: OnTests) -> Problem | None:
    """The part of the shorter task that overlaps with the longer one."""
    (test, *_) = on.tests
    part = test.figure("overlap") or 0.0
    engines = noted(test, "engines") if noted(test, "engines") is not None else on.run.copy_engines
    if part >= _GOOD or engines == 0:
        return None
    named = _set(on)
    if not named:
        _judged(on, engines)
    caused_by = f" ({', '.join(f'{name}={on.facts.host.environment[name]}' for name in named)})" if named else ""
    message = f"{on.name} overlaps {part:.0%} of a copy with compute{caused_by}."
    return Problem(sentence(message), severity=None if part < _NONE else Severity.ADVICE)


def _judged(on: OnTests, engines: float | None) -> None:
    """Leave the check where the hardware, or another user of it, may be the cause.

    Raises:
        UnknownFactError: that is the case.
    """
    idle(on.facts, on.run)
    if on_wsl(on.facts):
        raise UnknownFactError("on WSL, Windows decides what runs at the same time")
    if engines is None:
        raise UnknownFactError("it is unknown whether this GPU has a copy engine")
