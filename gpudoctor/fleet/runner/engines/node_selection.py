"""Which nodes were requested, for engines that are not asked about sets of nodes themselves."""

from gpudoctor.fleet.runner.engine import EngineError


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
