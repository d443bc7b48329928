"""How much of the host's memory is left: the machine's, or less where a container or job has a limit of its own."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

UNKNOWN = 1 << 30  # bytes, where nobody says
# Of both versions of control groups: where they are mounted, and the files that hold limit and use
# (https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/memory.html).
GROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def available(root: str = "") -> int:
    """The bytes that this process may still take.

    Args:
        root: stands before every path.
    """
    found = _number(root + "/proc/meminfo", "MemAvailable:")
    return max(0, min([UNKNOWN if found is None else found * 1024, *_left(root)]))


def _left(root: str) -> Iterator[int]:
    """What each control group above this process has left; what it keeps of files gives way."""
    for mount, limit, used in GROUPS:
        for path in _above(root, mount != GROUPS[0][0]):
            folder = root + mount + path
            most, now = _number(folder + "/" + limit), _number(folder + "/" + used)
            if most is not None and now is not None:
                yield most - now + (_number(folder + "/memory.stat", "inactive_file") or 0)


def _above(root: str, first_version: bool) -> list[str]:
    """This process's group and those above it, of which a container may see the top alone."""
    try:
        with open(root + "/proc/self/cgroup", encoding="utf-8", errors="replace") as lines:
            parts = [line.rstrip("\n").split(":", 2) for line in lines]
    except OSError:
        parts = []
    wanted = "memory" if first_version else ""
    path = next((p[2] for p in parts if len(p) == 3 and wanted in p[1].split(",")), "").rstrip("/")
    return ["/".join(path.split("/")[:length]) for length in range(path.count("/") + 1, 0, -1)]


def _number(path: str, name: str = "") -> int | None:
    """The number that a file holds, or that stands behind a name in it; None where there is none, as for "max"."""
    try:
        with open(path, encoding="ascii", errors="replace") as lines:
            words = next((line.split() for line in lines if line.startswith(name)), [])
        return int(words[1 if name else 0])
    except (OSError, IndexError, ValueError):
        return None
