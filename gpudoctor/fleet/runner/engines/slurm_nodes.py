"""What sinfo says of nodes: which there are, which cannot be asked and why, where they run, how many GPUs they have."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpudoctor.fleet.runner.engine import FleetTarget
from gpudoctor.lazy_regex import pattern

# sinfo(1), NODE STATE CODES. One line a node and partition; the reason stands last, since it may hold any sign. -o with
# these letters is older than sinfo's JSON, whose fields change with releases.
FORMAT = "%N|%T|%a|%P|%G|%E"
# What the sign at the end of a state means.
_SIGNS = {
    "*": "not responding",
    "~": "powered off",
    "#": "powering up",
    "!": "about to be powered off",
    "%": "powering off",
    "$": "in maintenance",
    "@": "about to be rebooted",
    "^": "rebooting",
    "-": "planned for another job",
}
_NO_WORK = frozenset("*~!%$@^")
# Jobs start on these, or wait for others to end; whatever else there is takes none ("down", "drained", "inval", ...).
_WORKS = frozenset(("idle", "allocated", "allocated+", "mixed", "completing", "planned", "powering_up", "power_up"))
_RESERVED = frozenset(("maint", "reserved"))
_IN_BRACKETS = pattern(r"\([^)]*\)")


class SinfoRow(NamedTuple):
    """One line of sinfo: a node in one of its partitions.

    Attributes:
        node: its name.
        state: as Slurm writes it, with the sign that may stand behind it.
        up: whether the partition takes and starts jobs; in Slurm's words ("up", "down", "drain", "inact").
        partition: its name; "*" behind it: jobs go there by default.
        gres: generic resources.
        reason: why the node takes no jobs; "none" where there is no reason.
    """

    node: str
    state: str
    up: str
    partition: str
    gres: str
    reason: str


def rows(lines: Iterable[str]) -> list[SinfoRow]:
    """What sinfo wrote with FORMAT; other lines (of several clusters) are passed over."""
    cut = (line.rstrip("\n").split("|", 5) for line in lines)
    return [SinfoRow(*(part.strip() for part in parts)) for parts in cut if len(parts) == 6]


def by_node(found: Iterable[SinfoRow]) -> dict[str, list[SinfoRow]]:
    """The rows of each node, in Slurm's order."""
    nodes: dict[str, list[SinfoRow]] = {}
    for row in found:
        nodes.setdefault(row.node, []).append(row)
    return nodes


def place(found: Sequence[SinfoRow]) -> SinfoRow:
    """The partition of a node where a job is best started: one that is up, the default one before others."""
    return min(found, key=lambda row: (row.up != "up", not row.partition.endswith("*")))


def target(found: Sequence[SinfoRow], reserved: bool = False) -> FleetTarget:
    """A node to be asked, or why it cannot be.

    Args:
        found: its rows, at least one.
        reserved: whether jobs run within a reservation, so that reserved nodes may be ours.
    """
    row = place(found)
    why = why_not(row.state, row.reason, reserved)
    if not why and row.up != "up":
        why = f"Slurm's partition {row.partition.rstrip('*')} is {row.up}."
    return FleetTarget(node=row.node, why_not=why, gpus=gpus(row.gres))


def why_not(state: str, reason: str, reserved: bool = False) -> str:
    """Why a node in this state cannot be asked, a sentence; empty: it can.

    Args:
        state: of sinfo.
        reason: that an operator or Slurm gave; "none": nobody did.
        reserved: see `target`.
    """
    sign = state[-1:] if state[-1:] in _SIGNS else ""
    plain = state.removesuffix(sign).lower()
    ours = _WORKS | _RESERVED if reserved else _WORKS
    bad = _NO_WORK - {"$"} if reserved else _NO_WORK
    if plain in ours and sign not in bad:
        return ""
    reported = f"{plain}, {_SIGNS[sign]}" if sign else plain
    caused_by = "" if reason.lower() in ("", "none", "(null)") else f": {reason.rstrip('.')}"
    return f"Slurm reports it as {reported}{caused_by}."


def responds(state: str) -> bool:
    """Whether the controller still hears from a node in this state."""
    return bool(state) and not state.endswith("*") and not state.lower().startswith("down")


def gpus(gres: str) -> int | None:
    """How many GPUs a node has: "gpu:h100:8(S:0-1),gpu:a100:1" is nine; None: Slurm was not told of any."""
    plain = _IN_BRACKETS.sub("", gres)
    counts = [_count(one.split(":")[1:]) for one in plain.split(",") if one.split(":")[0].strip() == "gpu"]
    return sum(counts) if counts else None


def _count(parts: Sequence[str]) -> int:
    """The number behind a name and a type; one where there is none, gres.conf(5)."""
    last = parts[-1].strip() if parts else ""
    return int(last) if last.isascii() and last.isdigit() else 1
