"""Debug variables are still set."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import MACHINE, About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.variables import unset
from gpudoctor.knowledge.variables import Debugging, debugging
from gpudoctor.maybe import Unknown
from gpudoctor.targets import cards_of, gpus_of


class OnVariable(msgspec.Struct, frozen=True):
    """One environment variable that only debugging needs."""

    facts: Facts
    name: str
    row: Debugging


def _variables(facts: Facts) -> Iterator[tuple[About, OnVariable]]:
    """Those that are set on a machine with an NVIDIA GPU, and affect it or an installed package."""
    if not (cards_of(facts, "nvidia") or gpus_of(facts, "nvidia")):
        return
    for name, value in facts.host.environment.items():
        row = debugging(name, value)
        if row is not None and (row.concerns == "nvidia" or _installed(facts, row.concerns)):
            yield MACHINE, OnVariable(facts, name, row)


def _installed(facts: Facts, package: str) -> bool:
    for python in facts.pythons:
        if any(f.name == package for f in python.frameworks):
            return True
        packages = python.packages
        if not isinstance(packages, Unknown) and any(p.name in (package, f"pytorch-{package}") for p in packages):
            return True
    return False


def _fixes(on: OnVariable) -> tuple[Fix, ...]:
    return (unset(on.facts, on.name, why="Set it only for the run that you debug."),)


@check(
    title="A debug variable is still set",
    severity=Severity.ADVICE,
    cause="The variable was set to debug something. Every program that inherits it pays for that, mostly in speed.",
    fixes=_fixes,
    references=(
        "https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html",
        "https://docs.pytorch.org/docs/2.15/cuda_environment_variables.html",
        "https://docs.pytorch.org/docs/stable/distributed.html",
        "https://nvidia.github.io/numba-cuda/reference/envvars.html",
        "https://docs.jax.dev/en/latest/config_options.html",
    ),
    targets=_variables,
    only_with=("pci.vendor=10de gpus.vendor=nvidia",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def debugging_left_on(on: OnVariable) -> Problem:
    """Each variable of the table whose value enables it."""
    value = on.facts.host.environment[on.name]
    severity = Severity.WARNING if on.row.severity == "warn" else None
    return Problem(f"{on.name}={value} is set: {on.row.does}.", severity=severity)
