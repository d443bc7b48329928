"""One GPU is slower than its peers."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.smoke import again, clocks
from gpudoctor.queries.smoke import OnRun, sentence
from gpudoctor.queries.smoke.cause_groups import SLOW
from gpudoctor.queries.smoke.peers import behind, runs_with_peers

# Differences of 5 percent between identical GPUs of one node are normal (stas00/ml-engineering).
_LEAST = 0.92


def _fixes(on: OnRun) -> tuple[Fix, ...]:
    message = "Swap two cards, or check what differs for this one: airflow, cables, slot, firmware."
    return clocks(on.gpu, on.run), Fix(message, (), "replace-hardware", verify=again(on.run, "matmul", "bandwidth"))


@check(
    title="GPU slower than its peers",
    severity=Severity.WARNING,
    cause="Identical GPUs in one machine differ by about 5%. One that is further behind is hotter, gets less power, "
    "or is faulty; training on all of them waits for it.",
    fixes=_fixes,
    references=("https://github.com/stas00/ml-engineering/tree/master/compute/accelerator",),
    targets=runs_with_peers,
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
    """Each test's speed compared with the median of the idle peers."""
    slow = {name: part for name, part in behind(on).items() if part < _LEAST}
    if not slow:
        return None
    speeds = ", ".join(f"{name} at {part:.0%}" for name, part in slow.items())
    return Problem(sentence(f"{on.name} is slower than on its peers: {speeds} of their speed."))
