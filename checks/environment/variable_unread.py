"""A variable is set that this release of the package no longer reads."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check, names
from gpudoctor.facts import Package
from gpudoctor.fixes.variables import unset
from gpudoctor.knowledge.variables import Unread, variables
from gpudoctor.maybe import known
from gpudoctor.queries.packages import numbers, package
from gpudoctor.targets import OnPython, pythons


def _found(on: OnPython) -> list[tuple[Unread, Package]]:
    """The variables of the table that are set in vain, each with the package."""
    found = []
    for row in variables().unread:
        value, owner = on.facts.host.environment.get(row.name, "").strip(), package(on.python, row.package)
        if owner and re.fullmatch(row.values, value) and numbers(owner.version) >= numbers(row.since):
            found.append((row, owner))
    return found


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    fixes = []
    for row, _ in _found(on):
        value = on.facts.host.environment[row.name].strip()
        why = row.instead.format(value=value)
        fixes.append(unset(on.facts, row.name, why=why))
    return tuple(fixes)


@check(
    title="A variable is set that the installed release no longer reads (VLLM_ATTENTION_BACKEND)",
    severity=Severity.WARNING,
    cause="Releases rename and remove environment variables. One that is not read has no effect, and most programs "
    "report nothing: they run with their default in place of what an older guide or image sets.",
    fixes=_fixes,
    references=(
        "https://github.com/vllm-project/vllm/issues/50292",
        "https://github.com/vllm-project/vllm/pull/32812",
        "https://github.com/vllm-project/vllm/pull/28204",
    ),
    targets=pythons,
    only_with=(f"host.environment={names(row.name for row in variables().unread)} pythons.packages?",),
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def variable_unread(on: OnPython) -> Problem | None:
    """A variable of the table is set, and the installed release is one that dropped it."""
    known(on.python.packages)
    found = _found(on)
    if not found:
        return None
    row, owner = found[0]
    value = on.facts.host.environment[row.name]
    message = f"{row.name}={value} has no effect: {owner.name} {owner.version} no longer reads it; {row.now}."
    more = f" The same applies to {', '.join(row.name for row, _ in found[1:])}." if found[1:] else ""
    return Problem(f"{message}{more}", tuple(f"{r.name}={on.facts.host.environment[r.name]}" for r, _ in found))
