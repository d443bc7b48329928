"""Identical Instinct cards have different partition modes."""

from collections import Counter

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.queries.amd_boards import divided
from gpudoctor.targets import amd_compute, in_container
from gpudoctor.tasks import as_root, query
from gpudoctor.tasks.placeholders import INDEX


@check(
    title="Identical Instinct GPUs have different partition modes",
    severity=Severity.ADVICE,
    cause="An MI300 or MI350 card appears as one GPU (SPX) or as several (DPX, QPX, CPX), with its memory whole "
    "(NPS1) or split. If cards differ, the GPUs of this node have different amounts of memory, and programs that "
    "split work evenly wait for the smallest or run out of memory there.",
    fixes=(
        Fix(
            "Stop all programs on these GPUs and set all cards to the same mode.",
            (
                query("amd-smi", "partition", "--current"),
                as_root("amd-smi", "set", "--gpu", "all", "--compute-partition", "SPX"),
            ),
            root=True,
            undo=(as_root("amd-smi", "set", "--gpu", INDEX, "--compute-partition", "CPX"),),
            verify=query("amd-smi", "partition", "--current"),
        ),
    ),
    references=("https://instinct.docs.amd.com/projects/amdgpu-docs/en/latest/gpu-partitioning/index.html",),
    targets=amd_compute,
    caused_by=("rocm.not-driven",),
    affects=("several-gpus",),
    validated_on=("table 2026-11",),
)
def partitions_differ(facts: Facts) -> Problem | None:
    """Cards of one model in more than one mode; partitioning is the host's decision, so containers are skipped."""
    if in_container(facts):
        return None
    for cards in divided(facts).values():
        counts = Counter("/".join(filter(None, mode)) for _, mode in cards)
        if len(counts) > 1:
            named = ", ".join(f"{count} in {mode}" for mode, count in counts.items())
            listing = tuple(f"{on.address}: {'/'.join(filter(None, mode))}" for on, mode in cards)
            return Problem(f"The {len(cards)} Instinct cards have different partition modes: {named}.", listing)
    return None
