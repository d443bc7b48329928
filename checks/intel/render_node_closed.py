"""This user cannot open the render nodes of Intel's GPUs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Facts
from gpudoctor.fixes import amd, intel
from gpudoctor.maybe import Unknown, known, known_or, present
from gpudoctor.queries.intel import discrete, intel_computers, openvinos, xpu_builds


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    return intel.join_group(facts, known(facts.intel.render)[0])


@check(
    title="/dev/dri/renderD* of the Intel GPU cannot be opened",
    severity=Severity.ERROR,
    cause="Level Zero and OpenCL open /dev/dri/renderD*, which belongs to the group render: a user who is not in it, "
    "and not logged in locally, sees no GPU.",
    fixes=_fixes,
    references=(
        intel.START,
        "https://github.com/pytorch/pytorch/issues/148477",
        "https://github.com/openvinotoolkit/openvino/issues/33133",
    ),
    targets=intel_computers,
    caused_by=("intel.not-driven", "intel.firmware-missing"),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def render_node_closed(facts: Facts) -> Problem | None:
    """There are nodes, and none of them opens."""
    nodes = known(facts.intel.render)
    if not (discrete(facts) or xpu_builds(facts) or any(openvinos(facts))):
        return None  # Level Zero is a dependency of other packages, and an integrated GPU is seldom meant
    if not nodes or any(n.error is None or isinstance(n.error, Unknown) for n in nodes):
        return None
    node = nodes[0]
    group, mode = amd.group_of(facts, node), known_or(node.mode, "?")
    severity = None if xpu_builds(facts) else Severity.WARNING
    message = f"{node.path} cannot be opened ({present(node.error)}): it belongs to the group {group}, mode {mode}."
    return Problem(message, severity=severity)
