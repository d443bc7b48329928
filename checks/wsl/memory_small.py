"""WSL has far less memory than the GPU."""

from gpudoctor.check_engine import Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import wsl
from gpudoctor.maybe import known
from gpudoctor.queries.containers import size
from gpudoctor.targets import gpus_of, wsl_machine


@check(
    title="WSL has less memory than the GPU",
    severity=Severity.ADVICE,
    cause="WSL gets half of the Windows host's memory unless .wslconfig sets another size. Weights usually pass "
    "through host memory on their way to the GPU; a program that loads a model of the GPU's size is then killed "
    "(Killed).",
    fixes=(wsl.MORE_MEMORY,),
    references=("https://learn.microsoft.com/windows/wsl/wsl-config#main-wsl-settings",),
    targets=wsl_machine,
    caused_by=("host.memory-limit",),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def memory_small(facts: Facts) -> str | None:
    """WSL 2 has less than half of the largest GPU's memory."""
    sizes = [g.memory for g in gpus_of(facts) if isinstance(g.memory, int) and g.integrated is not True]
    if not sizes or known(facts.host.wsl) != 2:
        return None
    memory = known(facts.host.memory)
    if memory * 2 >= max(sizes):
        return None
    return f"WSL has {size(memory)} of memory; the GPU has {size(max(sizes))}."
