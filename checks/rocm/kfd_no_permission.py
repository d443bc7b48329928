"""The user has no permission to open /dev/kfd."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import DeviceNode, Facts
from gpudoctor.fixes import amd
from gpudoctor.maybe import known, known_or
from gpudoctor.targets import amd_compute, in_container


def _closed(facts: Facts) -> DeviceNode | None:
    return next((n for n in known(facts.amd.kfd) if known(n.error) == "EACCES"), None)


def _fixes(facts: Facts) -> tuple[Fix, ...]:
    node = _closed(facts)
    return amd.join_group(facts, node) if node else ()


@check(
    title="Permission denied: /dev/kfd",
    severity=Severity.ERROR,
    cause="The device node's mode and group decide who may open it (EACCES, Permission denied). On current "
    "distributions it belongs to the group render; older guides name only video. In a container the numeric GID "
    "counts, not the name.",
    fixes=_fixes,
    references=(amd.POST_INSTALL, "https://github.com/ROCm/ROCm/issues/1798"),
    targets=amd_compute,
    caused_by=("container.selinux-denied",),
    affects=("everything",),
    validated_on=("simulated 2026-11",),
)
def kfd_no_permission(facts: Facts) -> Problem | None:
    """Opening it gives EACCES; where it opens, groups do not matter."""
    node = _closed(facts)
    if node is None:
        return None
    name, mode = amd.group_of(facts, node), known_or(node.mode, "?")
    mine = [g.name or str(g.gid) for g in known_or(facts.host.user.groups, ())]
    member = amd.is_member(facts, node)
    missing = "you are in it, but access is denied anyway" if member else "you are not in that group"
    belongs = f"It belongs to the group {name} (mode {mode}); {missing}."
    if not in_container(facts) and amd.is_for_root_alone(facts, node):
        belongs = f"Only root may open it (group {name}, mode {mode}): no udev rule assigned it to a group."
    message = f"/dev/kfd cannot be opened: Permission denied (EACCES). {belongs}"
    return Problem(message, (f"your groups: {', '.join(mine) or 'none'}",))
