"""Fixes of NCCL's settings: unset a variable, or comment it out in NCCL's own files."""

from itertools import chain

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, NcclSetting
from gpudoctor.fixes.variables import unset
from gpudoctor.tasks import cmd, filtered, query


def withdraw(facts: Facts, *settings: NcclSetting, why: str = "") -> tuple[Fix, ...]:
    """Unset those of the environment, and comment the others out in their files.

    Args:
        facts: the machine, on which they are set.
        settings: of NCCL.
        why: what to add, sentences.
    """
    variables = [one.name for one in settings if one.file is None]
    files = dict.fromkeys(one.file for one in settings if one.file is not None)
    lines = (_commented(file, [one.name for one in settings if one.file == file], why) for file in files)
    return (*([unset(facts, *variables, why=why)] if variables else ()), *lines)


def _commented(file: str, names: list[str], why: str) -> Fix:
    """NCCL passes over lines that start with "#"."""
    root = file.startswith("/etc/")
    off = [("-e", f"s/^{name}=/#&/") for name in names]
    back = [("-e", f"s/^#{name}=/{name}=/") for name in names]
    return Fix(
        f"Comment {' and '.join(names)} out in {file}.{why and ' ' + why}",
        (cmd("sed", "-i", *chain.from_iterable(off), file, root=root),),
        "change-environment",
        root=root,
        needs="restart of the program",
        undo=(cmd("sed", "-i", *chain.from_iterable(back), file, root=root),),
        verify=filtered(query("cat", file), query("grep", "NCCL_")),
    )
