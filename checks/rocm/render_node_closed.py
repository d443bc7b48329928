"""The render nodes of AMD's GPUs are missing or not accessible, although /dev/kfd opens."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DeviceNode, Facts
from gpudoctor.fixes import amd, amd_container
from gpudoctor.maybe import Unknown, known, known_or, present
from gpudoctor.targets import amd_compute, in_container


def _closed(facts: Facts) -> tuple[DeviceNode, ...]:
    """The inaccessible nodes, where none opens: one that opens is enough for its GPU."""
    nodes = known(facts.amd.render)
    some_open = any(n.error is None or isinstance(n.error, Unknown) for n in nodes)
    return () if some_open else nodes


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    closed = _closed(facts)
    if closed and closed[0].error == "EACCES":
        return amd.join_group(facts, closed[0])
    return amd_container.pass_devices(facts) if in_container(facts) else ()


@check(
    title="/dev/dri/renderD* of the AMD GPUs cannot be opened",
    severity=Severity.ERROR,
    cause="In addition to /dev/kfd, ROCm opens /dev/dri/renderD* of each GPU to allocate memory. A GPU whose node is "
    "missing or not accessible is skipped.",
    fixes=_fixes,
    references=(amd.POST_INSTALL, amd.CONTAINERS),
    targets=amd_compute,
    caused_by=("rocm.half-installed",),
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def render_node_closed(facts: Facts) -> Problem | None:
    """No render node opens."""
    kfd = known(facts.amd.kfd)
    if not kfd or known(kfd[0].error) is not None:
        return None
    if not known(facts.amd.render):
        if not in_container(facts):
            return None  # a host's amdgpu makes them; a driver that did not is another problem
        return Problem("/dev/kfd was passed into this container, but /dev/dri/renderD* was not.")
    closed = _closed(facts)
    if not closed:
        return None
    node = closed[0]
    group, mode = amd.group_of(facts, node), known_or(node.mode, "?")
    return Problem(
        f"{node.path} cannot be opened ({present(node.error)}): it belongs to the group {group}, mode {mode}."
    )
