"""Two machines beside each other: what differs between their facts and reports, what matters first."""

from gpudoctor.comparison.compare import compare
from gpudoctor.comparison.model import Comparison, Difference, DifferenceGroup, DifferenceState
from gpudoctor.comparison.sides import ComparedMachine, loaded, read, side

__all__ = [
    "ComparedMachine",
    "Comparison",
    "Difference",
    "DifferenceGroup",
    "DifferenceState",
    "compare",
    "loaded",
    "read",
    "side",
]
