"""The whole fleet in one line: how many nodes of how many are healthy, and the state of the others."""

from gpudoctor.fleet.summary import JUDGED, REPORTED, STATES, Fleet
from gpudoctor.report.numbers import number

WORDS = {
    "fail": ("fails", "fail"),
    "incomplete": ("is incomplete", "are incomplete"),
    "failed": ("gave no report", "gave no report"),
    "timed out": ("timed out", "timed out"),
    "unreachable": ("is unreachable", "are unreachable"),
    "refused": ("was refused", "were refused"),
    "not asked": ("was not checked", "were not checked"),
    "unreadable": ("sent an unreadable report", "sent unreadable reports"),
    "stale": ("has a stale report", "have stale reports"),
    "no-gpu": ("has NO GPU", "have NO GPU"),
    "warn": ("has warnings", "have warnings"),
}


def status(fleet: Fleet) -> str:
    """The verdict: one of a report's; a fleet in which a node has no report, or no GPU, is no pass.

    A cause may be between nodes, each of which is healthy: then it counts as if one were not.
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
    return sum(count for state, count in fleet.counts.items() if state not in JUDGED)


def silent(fleet: Fleet) -> int:
    """How many nodes gave no report that can be read."""
    return sum(count for state, count in fleet.counts.items() if state not in REPORTED)


def states(fleet: Fleet) -> list[tuple[str, int, str]]:
    """Each state that a node is in, how many are, and which (folded), worst first; those of no name of ours last."""
    order = {state: place for place, state in enumerate(STATES)}
    found = ((state, fleet.counts.get(state, 0), nodes) for state, nodes in fleet.states.items())
    return sorted((one for one in found if one[1]), key=lambda one: order.get(one[0], len(order)))


def sentence(fleet: Fleet) -> str:
    """How many nodes of how many are healthy, and the state of the others."""
    if not fleet.total:
        return "No nodes: there are no reports, and no node was checked."
    healthy, plain = fleet.counts.get("pass", 0), fleet.counts.get("cpu-only", 0)
    total = fleet.total - plain
    what = " with GPUs" if plain else ""
    apart = f"; {number(plain)} more {'has' if plain == 1 else 'have'} none (CPU only)" if plain else ""
    if healthy == total:
        all_ = f"All {number(healthy)} nodes{what} are" if healthy > 1 else f"The node{what} is"
        return f"{all_} healthy{apart}."
    found = [(state, count) for state, count, _ in states(fleet) if state not in ("pass", "cpu-only")]
    if total == 1 and len(found) == 1:
        return f"The node{what} {WORDS.get(found[0][0], found[0][:1])[0]}{apart}."
    others = ", ".join(_words(state, count) for state, count in found)
    are = "is" if healthy == 1 else "are"
    return f"{number(healthy)} of {number(total)} nodes{what} {are} healthy; {others}{apart}."


def _words(state: str, count: int) -> str:
    one, several = WORDS.get(state, (state, state))
    return f"{number(count)} {one if count == 1 else several}"
