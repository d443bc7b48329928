"""Which nodes were requested, for engines that are not asked about sets of nodes themselves."""

from collections.abc import Sequence

import msgspec

from gpudoctor.fleet.runner.engine import EngineError, FleetTarget


def named(request: str) -> tuple[str, ...]:
    """The nodes that a set means; none where it is empty.

    Raises:
        EngineError: it is no set of nodes, means none, or ClusterShell is not installed.
    """
    if not request.strip():
        return ()
    from gpudoctor.fleet.nodesets import NodesError, unfold

    try:
        names = unfold(request)
    except NodesError as error:
        raise EngineError(str(error)) from None
    if not names:
        raise EngineError(f'"{request}" selects no node.')
    return names


def without_gpus(found: Sequence[FleetTarget], having: Sequence[bool]) -> list[FleetTarget]:
    """The nodes of a cluster, those without GPUs marked as plain; none is where the engine knows of no GPU at all.

    Args:
        found: all nodes.
        having: whether each has GPUs.
    """
    if not any(having):
        return list(found)
    return [one if has else msgspec.structs.replace(one, plain=True) for one, has in zip(found, having, strict=True)]
