"""Many names of nodes as one short text, and back: node[001-128,140]."""

from collections.abc import Iterable


class NodesError(ValueError):
    """A text that is no set of nodes; the message is one sentence."""


def fold(names: Iterable[str]) -> str:
    """The names, folded as Slurm and ClusterShell write them, in natural order."""
    from ClusterShell.NodeSet import NodeSet, NodeSetException

    try:
        return str(NodeSet.fromlist(list(names)))
    except NodeSetException:  # a name with a sign that means something there
        return ",".join(sorted(names))


def unfold(text: str) -> tuple[str, ...]:
    """The names that a folded text means.

    Raises:
        NodesError: it is no set of nodes.
    """
    from ClusterShell.NodeSet import NodeSet, NodeSetException

    try:
        return tuple(NodeSet(text))
    except NodeSetException as error:
        raise NodesError(f'"{text}" is no set of nodes: {error}.') from None
