"""Debug variables that make ROCm synchronize, write logs or copy slowly are still set."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import MACHINE, About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.variables import unset
from gpudoctor.knowledge import rocm
from gpudoctor.targets import amd_compute


class OnRocmVariable(msgspec.Struct, frozen=True):
    """One environment variable that only debugging needs."""

    facts: Facts
    name: str
    does: str


def _variables(facts: Facts) -> Iterator[tuple[About, OnRocmVariable]]:
    for _ in amd_compute(facts):
        for name, value in facts.host.environment.items():
            does = rocm.debugging(name, value)
            if does is not None:
                yield MACHINE, OnRocmVariable(facts, name, does)


def _fixes(on: OnRocmVariable) -> tuple[Fix, ...]:
    return (unset(on.facts, on.name, why="Set it only for the run that you debug."),)


@check(
    title="A ROCm debug variable is still set",
    severity=Severity.ADVICE,
    cause="The variable was set to debug something. Every program that inherits it pays for that, mostly in speed.",
    fixes=_fixes,
    references=(
        "https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html",
        "https://rocm.docs.amd.com/en/latest/reference/env-variables.html",
    ),
    targets=_variables,
    only_with=("targets:amd_compute",),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def debugging_left_on(on: OnRocmVariable) -> Problem | None:
    """It is set to a value that enables it."""
    value = on.facts.host.environment[on.name]
    return Problem(f"{on.name}={value} is set: {on.does}.", (f"{on.name}={value}",))
