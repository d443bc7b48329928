"""A variable makes the driver ignore the machine code or the PTX of programs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.digits import number_of
from gpudoctor.facts import Facts
from gpudoctor.fixes.variables import unset
from gpudoctor.fixes.verify_commands import framework_proof
from gpudoctor.knowledge.variables import variables
from gpudoctor.targets import nvidia_machine


def _set(facts: Facts) -> list[str]:
    """Those that are set to a number other than 0."""
    env = facts.host.environment
    return [name for name in variables().code if number_of(env.get(name, "").strip())]


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    proof = next((p for python in facts.pythons if (p := framework_proof(python))), None)
    return (unset(facts, *_set(facts), verify=proof),)


@check(
    title="A debug variable overrides the driver's choice of machine code and PTX",
    severity=Severity.WARNING,
    cause="Programs contain machine code for some compute capabilities, and PTX that the driver compiles for others. "
    "The variable is meant for testing whether a program's PTX is complete; it affects every CUDA program and library.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html",),
    targets=nvidia_machine,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def code_overridden(facts: Facts) -> Problem | None:
    """One of the driver's variables for just-in-time compilation is set to a number other than 0."""
    names = _set(facts)
    if not names:
        return None
    lines = tuple(f"{name}={facts.host.environment[name]}" for name in names)
    return Problem(f"{lines[0]} is set: {variables().code[names[0]]}.", lines)
