"""Ray's nodes as targets: each gets a name of its own, and those that are dead say why."""

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from gpudoctor.fleet.runner.engine import FleetTarget

# Ray's NodeDeathInfo.Reason (common.proto): 1 ended as it should, 3 taken back by its provider, 4 let go by the
# autoscaler when it was idle. Such a node is none of the cluster any more; the others are missed.
_LET_GO = ("1", "3", "4")
_ODD = re.compile(r"[^A-Za-z0-9_.:-]")
_ID = 8  # letters of a node's id that tell nodes of one host apart


class RayNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node as workers/ray_driver.py tells it."""

    id: str
    name: str = ""
    host: str = ""
    address: str = ""
    alive: bool = True
    gpus: int | None = None
    reason: str = ""
    words: str = ""

    @property
    def plain(self) -> str:
        """What people call it: the name that it was given, else its host's; Ray's own default is the address."""
        name = self.name if self.name not in ("", self.address) else self.host or self.address or self.id
        return _ODD.sub("-", name).lstrip(".-") or self.id


def named(nodes: Sequence[RayNode]) -> dict[str, RayNode]:
    """The nodes by a name of their own, those that left the cluster as they should left out.

    A raylet that was started again is another node to Ray: a dead one next to a living one of its name is the past.
    """
    living = {node.plain for node in nodes if node.alive}
    kept = [n for n in nodes if n.alive or (n.plain not in living and n.reason not in _LET_GO)]
    times = Counter(node.plain for node in kept)
    return {n.plain if times[n.plain] == 1 else f"{n.plain}-{n.id[:_ID]}": n for n in kept}


def targets(nodes: Sequence[RayNode]) -> list[FleetTarget]:
    """All nodes as targets."""
    return [FleetTarget(node=name, why_not=_why_not(node), gpus=node.gpus) for name, node in named(nodes).items()]


def _why_not(node: RayNode) -> str:
    if node.alive:
        return ""
    words = " ".join(node.words.split())
    return f"Ray reports it as dead: {words.rstrip('.')}." if words else "Ray reports it as dead."


def requested(nodes: Sequence[RayNode], names: Sequence[str]) -> list[FleetTarget]:
    """The targets of these names; a host's name or address means all nodes on it, and one unknown to Ray says so."""
    known, found = named(nodes), dict[str, FleetTarget]()
    for request in names:
        meant = [
            name for name, node in known.items() if request in (name, node.plain, node.host, node.address, node.id)
        ]
        for name in meant:
            found[name] = FleetTarget(node=name, why_not=_why_not(known[name]), gpus=known[name].gpus)
        if not meant:
            found[request] = FleetTarget(node=request, why_not="Ray has no node with this name.")
    return list(found.values())
