"""Commands of pip, or uv in its place, whose feasibility can be checked before they run."""

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from gpudoctor.tasks import Command, PackageChange, Tasks, cmd

Installer = Literal["pip", "uv"]


def pip(installer: Installer, interpreter: str, verb: str, *arguments: str) -> Command:
    """The command of pip, or of uv in its place.

    Args:
        installer: pip or uv.
        interpreter: the environment's Python.
        verb: install, uninstall.
        arguments: what follows the verb.
    """
    first = ("uv", "pip", verb, "--python", interpreter) if installer == "uv" else (interpreter, "-m", "pip", verb)
    resolve = (*first, "--dry-run", *arguments) if verb == "install" else ()
    return cmd(*first, *arguments, packages=PackageChange(interpreter, installer, resolve))


def replace(installer: Installer, interpreter: str, index: str | None, names: Sequence[str], *options: str) -> Tasks:
    """The commands that replace installed builds with those of another index, and nothing else.

    pip and uv keep an installed version that satisfies a requirement, whatever build it is. Nothing is removed first:
    both take the old files away only once they have the new ones. pip has no option that installs only the named
    packages again, so what they depend on comes by a second command.

    Args:
        installer: pip or uv.
        interpreter: the environment's Python.
        index: the address of the only index that is asked; None: the usual one.
        names: the packages, as requirements.
        options: further options.
    """
    source = (*options, *(("--index-url", index) if index else ()))
    if installer == "uv":
        again = [word for name in names for word in ("--reinstall-package", re.split(r"[^\w.-]", name)[0])]
        return (pip(installer, interpreter, "install", *again, *source, *names),)
    first = pip(installer, interpreter, "install", "--force-reinstall", "--no-deps", *source, *names)
    rest = pip(installer, interpreter, "install", *source, *names)
    asked = pip(installer, interpreter, "install", "--force-reinstall", *source, *names).packages
    return (
        msgspec.structs.replace(first, packages=asked),
        msgspec.structs.replace(rest, packages=PackageChange(interpreter, installer)),
    )


def twice(commands: Tasks) -> str:
    """Why another build takes two commands, where it does."""
    return " The first command replaces the build, the second adds what it requires." if len(commands) > 1 else ""
