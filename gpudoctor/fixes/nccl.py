"""Fixes of what NCCL is told: unset a variable, or delete it from NCCL's own files."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, NcclSetting
from gpudoctor.fixes.variables import unset
from gpudoctor.tasks import cmd, filtered, query


def withdraw(facts: Facts, *settings: NcclSetting, why: str = "") -> tuple[Fix, ...]:
    """Unset those of the environment, and delete the others from their files.

    Args:
        facts: the machine, on which they are set.
        settings: what NCCL is told.
        why: what to add, sentences.
    """
    variables = [one.name for one in settings if one.file is None]
    files = dict.fromkeys(one.file for one in settings if one.file is not None)
    deletions = (_deletion(file, [one.name for one in settings if one.file == file], why) for file in files)
    return (*([unset(facts, *variables, why=why)] if variables else ()), *deletions)


def _deletion(file: str, names: list[str], why: str) -> Fix:
    root = file.startswith("/etc/")
    words = tuple(word for name in names for word in ("-e", f"/^{name}=/d"))
    delete = cmd("sed", "-i.orig", *words, file, root=root)
    return Fix(
        f"Delete {' and '.join(names)} from {file}.{why and ' ' + why}",
        (delete,),
        "change-environment",
        root=root,
        needs="restart of the program",
        undo=(cmd("mv", f"{file}.orig", file, root=root),),
        verify=filtered(query("cat", file), query("grep", "NCCL_")),
    )
