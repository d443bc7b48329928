"""What is to be said of the whole fleet in a line: how many of how many are well, and what the others are."""

from gpudoctor.fleet.summary import REPORTED, STATES, Fleet
from gpudoctor.report.numbers import number

WORDS = {
    "fail": ("fails", "fail"),
    "incomplete": ("could not be judged", "could not be judged"),
    "failed": ("ended without a report", "ended without a report"),
    "timed out": ("did not end in time", "did not end in time"),
    "unreachable": ("could not be reached", "could not be reached"),
    "refused": ("refused", "refused"),
    "not asked": ("was not asked", "were not asked"),
    "unreadable": ("gave a report that cannot be read", "gave reports that cannot be read"),
    "no-gpu": ("has NO GPU", "have NO GPU"),
    "warn": ("works with warnings", "work with warnings"),
}


def status(fleet: Fleet) -> str:
    """The verdict: one of a report's; a fleet of which a node says nothing, or has no GPU, is no pass.

    A cause may lie between nodes, each of which is well: then it counts as if one were not.
    """
    causes = {cause.status for cause in fleet.causes}
    if fleet.counts.get("fail") or "fail" in causes:
        return "fail"
    if not fleet.total or unknown(fleet):
        return "incomplete"
    if fleet.counts.get("no-gpu"):
        return "no-gpu"
    return "warn" if fleet.counts.get("warn") or "warn" in causes else "pass"


def unknown(fleet: Fleet) -> int:
    """How many nodes nobody can judge: those without a report, and those whose report says too little."""
    return sum(count for state, count in fleet.counts.items() if state not in ("fail", "no-gpu", "warn", "pass"))


def silent(fleet: Fleet) -> int:
    """How many nodes gave no report that can be read."""
    return sum(count for state, count in fleet.counts.items() if state not in REPORTED)


def states(fleet: Fleet) -> list[tuple[str, int, str]]:
    """Each state that a node is in, how many are, and which (folded), worst first; those of no name of ours last."""
    order = {state: place for place, state in enumerate(STATES)}
    found = ((state, fleet.counts.get(state, 0), nodes) for state, nodes in fleet.states.items())
    return sorted((one for one in found if one[1]), key=lambda one: order.get(one[0], len(order)))


def sentence(fleet: Fleet) -> str:
    """How many of how many are well, and what the others are."""
    if not fleet.total:
        return "There is no node: nothing was reported, and nobody was asked."
    well = fleet.counts.get("pass", 0)
    if well == fleet.total:
        return f"All {number(well)} nodes are well." if well > 1 else "The one node is well."
    others = ", ".join(_words(state, count) for state, count, _ in states(fleet) if state != "pass")
    are = "is" if well == 1 else "are"
    return f"{number(well)} of {number(fleet.total)} node{'s' * (fleet.total != 1)} {are} well; {others}."


def _words(state: str, count: int) -> str:
    one, several = WORDS.get(state, (state, state))
    return f"{number(count)} {one if count == 1 else several}"
