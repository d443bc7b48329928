"""Two machines beside each other: what differs between their facts and reports, what matters first."""

from gpudoctor.comparison.compare import compare
from gpudoctor.comparison.model import Comparison, Group, Row, State
from gpudoctor.comparison.sides import Side, loaded, read, side

__all__ = ["Comparison", "Group", "Row", "Side", "State", "compare", "loaded", "read", "side"]
