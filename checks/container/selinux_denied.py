"""SELinux denies the container the GPU's device nodes."""

from gpudoctor.check_engine import Problem, Severity, check
from gpudoctor.facts import DeviceNode, Facts, LogEvent
from gpudoctor.fixes import container
from gpudoctor.maybe import Unknown, known_or, phrase
from gpudoctor.queries.containers import nvidia_container, refused


def _open_to_all(node: DeviceNode) -> bool:
    """Whether the mode lets everybody read and write: then a security module denies access, not the mode."""
    return isinstance(node.mode, str) and node.mode[-1:] in ("6", "7")


def _denials(facts: Facts) -> list[LogEvent]:
    events = () if isinstance(facts.log.events, Unknown) else facts.log.events
    return [e for e in events if e.kind == "selinux-denied" and "nvidia" in e.what.get("device", e.text)]


@check(
    title="SELinux denies the container the GPU's device nodes",
    severity=Severity.ERROR,
    cause="SELinux confines containers (type container_t) and denies them device nodes of other types, whatever the "
    "nodes' mode: open() returns EACCES although the mode is 0666. Changing modes or groups does not help.",
    fixes=container.selinux,
    references=(
        "https://github.com/containers/container-selinux",
        "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html",
        "https://github.com/redhat-et/triton-dev-containers/issues/61",
    ),
    targets=nvidia_container,
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def selinux_denied(facts: Facts) -> Problem | None:
    """Nodes that are open to all return EACCES on a host with SELinux."""
    shut, denials = [n for n in refused(facts, "EACCES") if _open_to_all(n)], _denials(facts)
    state = facts.host.selinux
    # Engines hide SELinux's state from containers; then only the label of this process shows it.
    if not shut or (state != "enforcing" and not denials and not isinstance(state, Unknown)):
        return None
    how = "SELinux is enforcing" if state == "enforcing" else "this process carries an SELinux label"
    node = shut[0]
    message = (
        f"{node.path} has mode {known_or(node.mode, '?')}, but open() returns EACCES: {how} and denies the container."
    )
    evidence = [f"{n.path}{phrase(' mode {}', n.mode)}: EACCES" for n in shut[:2]] + [e.text for e in denials[:2]]
    return Problem(message, tuple(evidence))
