"""One GPU is slower than the others of its kind."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again, clocks
from gpudoctor.queries.smoke import OnRun, sentence
from gpudoctor.queries.smoke_cause_groups import SLOW
from gpudoctor.queries.smoke_peers import behind, sisters

# Between equal GPUs of one node 5 per cent are normal (stas00/ml-engineering).
_LEAST = 0.92


def _fixes(on: OnRun) -> tuple[Fix, ...]:
    message = (
        "Change the places of two cards, or look at what is different around this one: air, cables, slot, firmware."
    )
    return clocks(on.gpu, on.run), Fix(message, (), "replace-hardware", verify=again(on.run, "matmul", "bandwidth"))


@check(
    title="A GPU is slower than its equals",
    severity=Severity.WARNING,
    cause="GPUs of one kind in one machine differ by some five per cent. One that is farther behind is hotter, gets "
    "less power, or has a fault; training on all of them waits for it.",
    fixes=_fixes,
    references=("https://github.com/stas00/ml-engineering/tree/master/compute/accelerator",),
    targets=sisters,
    caused_by=(
        *SLOW,
        "smoke.slow-matmul",
        "smoke.tensor-cores-idle",
        "smoke.slow-memory",
        "smoke.heat-soak",
        "smoke.corrected-ecc",
    ),
    affects=("several-gpus", "everything"),
    validated_on=("table 2026-11",),
)
def slower_than_sisters(on: OnRun) -> Problem | None:
    """Each test's speed against the median of the others that were idle."""
    slow = {name: part for name, part in behind(on).items() if part < _LEAST}
    if not slow:
        return None
    words = ", ".join(f"{name} at {part:.0%}".replace("%", " %") for name, part in slow.items())
    return Problem(sentence(f"{on.name} is slower than on the equal GPUs here: {words} of their speed."))
