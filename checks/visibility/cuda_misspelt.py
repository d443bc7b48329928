"""A variable's name is nearly CUDA_VISIBLE_DEVICES."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes.variables import assign, unset
from gpudoctor.maybe import present
from gpudoctor.parsers.spelling import nearest
from gpudoctor.queries.visibility import CUDA
from gpudoctor.targets import nvidia_machine
from gpudoctor.tasks import filtered, query


def _misspelt(facts: Facts) -> str | None:
    # A copy kept on purpose, CUDA_VISIBLE_DEVICES_OLD, is no typo.
    names = [n for n in facts.host.environment if n.upper().startswith("CUDA_VIS") and not n.startswith(CUDA)]
    return next((n for n in names if nearest(n.upper(), (CUDA,), 0.9)), None)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    name = present(_misspelt(facts))
    value = facts.host.environment[name]
    verify = filtered(query("env"), query("grep", CUDA))
    return assign(CUDA, value, f"Set {CUDA} to that value, and unset {name}.", verify), unset(facts, name)


@check(
    title="CUDA_VISIBLE_DEVICES is misspelled, so the variable has no effect",
    severity=Severity.ADVICE,
    cause="CUDA reads only the exact name. A misspelled variable hides nothing, so the program uses GPU 0, or all "
    "GPUs.",
    fixes=_fixes,
    references=("https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html",),
    targets=nvidia_machine,
    affects=("everything",),
    validated_on=("table 2026-11",),
    vendor="nvidia",
)
def cuda_misspelt(facts: Facts) -> str | None:
    """The mask itself is not set, and a variable differs from its name in a letter or two."""
    name = None if CUDA in facts.host.environment else _misspelt(facts)
    return f"{name} is set, but nothing reads it: the variable is called {CUDA}." if name else None
