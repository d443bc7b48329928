"""Reads the names that pip gives to what it is about to delete, and leaves behind where it is interrupted.

pip renames PATH/torch to PATH/~orch, then to ~-rch, ~.rch ...: as long as before, some first characters replaced. In
front of a name of one letter, or where all of those are taken, it puts some instead (pypa/pip,
src/pip/_internal/utils/temp_dir.py, AdjacentTempDirectory).
"""

# What stands first, and what may stand in place of further characters.
_FIRST, _FILLS = "~", "~-.=%0123456789"


def is_remains(name: str) -> bool:
    """Whether a name in a folder of packages is one that pip gives to what it deletes."""
    return name.startswith(_FIRST)


def could_be(name: str, former: str) -> bool:
    """Whether pip may have given this name to what was called `former`; both are names in one folder."""
    if not is_remains(name):
        return False
    if len(name) > len(former):
        return bool(former) and name.endswith(former) and not name[: -len(former)].strip(_FILLS)
    tail = name.lstrip(_FILLS)  # one letter alone could be the end of many names
    return len(name) == len(former) and len(tail) > 1 and former.endswith(tail) and former != name
