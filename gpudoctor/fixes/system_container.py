"""Fixes for containers that hold a whole system (LXC): they have groups of their own, and their host names the nodes'.

pct.conf(5): `dev[n]: PATH,gid=N` gives a node to group N of the container; LXD's and Incus's gpu device has gid too.
"""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import DeviceNode, Facts
from gpudoctor.fixes import system
from gpudoctor.maybe import known_or
from gpudoctor.tasks import Task, cmd, query
from gpudoctor.tasks.placeholders import CONTAINER, CTID, DEV_LINE, GID

OVERFLOW = 65534  # the group that a user namespace shows for groups that it does not map


def open_node(facts: Facts, node: DeviceNode, verify: Task) -> tuple[Fix, ...]:
    """Let the user open a node that returns EACCES, from inside by its group, or on the host by the node's gid.

    Args:
        facts: of an LXC container.
        node: the node that does not open.
        verify: what shows that it opens.
    """
    user = facts.host.user
    mine, all_known = known_or(user.groups, ()), (*known_or(user.groups, ()), *user.known_groups)
    gid = known_or(node.gid, OVERFLOW)
    render = next((g.gid for g in all_known if g.name == "render"), None)
    name = next((g.name for g in all_known if g.gid == gid and g.name), None)
    host = _on_the_host(node, render if render is not None else gid, verify)
    may_write = known_or(node.mode, "660")[-2:-1] in ("6", "7")
    if name is None or gid in (0, OVERFLOW) or not may_write or any(g.gid == gid for g in mine):
        return (host,)
    inside = system.relogin(
        f"Add yourself to this container's group {name}, to which {node.path} belongs here, then log in again "
        "(a service: restart it).",
        (system.join_groups(facts, name),),
        (system.leave_group(facts, name),),
        verify,
    )
    # Who is in render already has done their part: the host gave the node to another group.
    return (host, inside) if any(g.gid == render for g in mine) and render != gid else (inside, host)


def _on_the_host(node: DeviceNode, gid: int, verify: Task) -> Fix:
    number = str(gid) if 0 < gid < OVERFLOW else GID.name
    blanks = () if number != GID.name else (GID,)
    message = (
        f"On the host, give {node.path} to group {number} of the container (`getent group render` inside shows its "
        f"GID): with Proxmox by gid= of the devN line that names it in /etc/pve/lxc/CTID.conf, with LXD or Incus by "
        "the gpu device's gid. Then restart the container."
    )
    return Fix(
        message,
        (
            query("grep", "-n", "dev", "/etc/pve/lxc/CTID.conf", placeholders=(CTID,)),
            cmd("pct", "set", CTID, DEV_LINE, f"{node.path},gid={number}", placeholders=blanks),
            cmd("pct", "reboot", CTID),
            cmd("lxc", "config", "device", "set", CONTAINER, "gpu", f"gid={number}", placeholders=blanks),
        ),
        "change-environment",
        root=True,
        needs="restart of the container",
        verify=verify,
        place="outside",
    )
