"""Fixes in the configuration of the dynamic loader: /etc/ld.so.conf and its directory."""

from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts
from gpudoctor.lazy_regex import pattern
from gpudoctor.targets import in_container
from gpudoctor.tasks import Task, as_root, pipe, query, sentence

_SYSTEM = pattern(r"(/usr)?/lib(32|64)?(/[\w-]+-linux-gnu)?")


def is_of_the_system(folder: str) -> bool:
    """Whether the loader searches this directory without being told to."""
    return _SYSTEM.fullmatch(folder) is not None


def out_of_the_configuration(facts: Facts, folders: Sequence[str], message: str, verify: Task) -> Fix:
    """Delete only the directories' own lines; the copies (.bak) are not read by the loader.

    Args:
        facts: the machine.
        folders: the directories, as the loader's cache names them.
        message: what is done, and what for; a sentence about the copies follows.
        verify: the command that verifies the fix.
    """
    words = [word for folder in folders for word in ("-e", folder)]
    lines = [word for folder in folders for word in ("-e", rf"\#^[[:space:]]*{folder}/*[[:space:]]*$#d")]
    if len(folders) == 1:
        words, lines = words[1:], lines[1:]
    files = query("grep", "-rl", "--include=*.conf", *words, "/etc/ld.so.conf", "/etc/ld.so.conf.d")
    return Fix(
        f"{message} Each changed file gets a backup that ends in .bak.",
        (pipe(files, as_root("xargs", "-r", "sed", "-i.bak", *lines)), as_root("ldconfig")),
        "change-environment",
        root=True,
        needs="restart of the container" if in_container(facts) else None,
        undo=sentence("Restore the backups (.bak) and run ldconfig again."),
        verify=verify,
    )
