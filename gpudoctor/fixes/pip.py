"""Commands of pip, or uv in its place, whose feasibility can be checked before they run."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from gpudoctor.tasks import Command, PackageChange, Tasks, cmd

Installer = Literal["pip", "uv"]
Env = tuple[tuple[str, str], ...]


def pip(installer: Installer, interpreter: str, verb: str, *arguments: str, env: Env = (), note: str = "") -> Command:
    """The command of pip, or of uv in its place.

    Args:
        installer: pip or uv.
        interpreter: the environment's Python.
        verb: install, uninstall.
        arguments: what follows the verb.
        env: variables for it alone.
        note: a sentence about it.
    """
    first = ("uv", "pip", verb, "--python", interpreter) if installer == "uv" else (interpreter, "-m", "pip", verb)
    variables = ("env", *(f"{name}={value}" for name, value in env)) if env else ()
    resolve = (*variables, *first, "--dry-run", *arguments) if verb == "install" else ()
    return cmd(*first, *arguments, env=env, note=note, packages=PackageChange(interpreter, installer, resolve))


class OneIndex(NamedTuple):
    """How a command asks one package index alone."""

    options: tuple[str, ...] = ()
    env: Env = ()
    note: str = ""


def only(installer: Installer, index: str | None, configured: str | None) -> OneIndex:
    """The index that a command asks, without those of the user's configuration.

    pip takes the highest release of all indexes, so that an extra one has its way; a variable replaces those of
    files. uv takes a package from the first index that has it, unless it is set to take the best match of all, and
    --index comes first.

    Args:
        installer: pip or uv.
        index: the address; None: the usual one.
        configured: the variable or file that adds further indexes; None: nothing does.
    """
    if index is None:
        return OneIndex()
    source = ("--index-url", index)
    if configured is None:
        return OneIndex(source)
    if installer == "uv":
        return OneIndex(before_others(index), note=f"--index comes before the indexes of {configured}.")
    note = f"PIP_EXTRA_INDEX_URL keeps pip from another build that the extra index of {configured} may have."
    return OneIndex(source, (("PIP_EXTRA_INDEX_URL", index),), note)


def before_others(index: str) -> tuple[str, ...]:
    """The options by which uv asks an index first, whatever indexes and strategy it is configured with."""
    return ("--index", index, "--index-url", index, "--index-strategy", "first-index")


def replace(
    installer: Installer,
    interpreter: str,
    index: str | None,
    names: Sequence[str],
    *options: str,
    configured: str | None = None,
) -> Tasks:
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
        configured: as of `only`.
    """
    chosen, env, note = only(installer, index, configured)
    source = (*options, *chosen)
    if installer == "uv":
        again = [word for name in names for word in ("--reinstall-package", re.split(r"[^\w.-]", name)[0])]
        return (pip(installer, interpreter, "install", *again, *source, *names, env=env, note=note),)
    first = pip(
        installer, interpreter, "install", "--force-reinstall", "--no-deps", *source, *names, env=env, note=note
    )
    rest = pip(installer, interpreter, "install", *source, *names, env=env)
    asked = pip(installer, interpreter, "install", "--force-reinstall", *source, *names, env=env).packages
    return (
        msgspec.structs.replace(first, packages=asked),
        msgspec.structs.replace(rest, packages=PackageChange(interpreter, installer)),
    )


def twice(commands: Tasks) -> str:
    """Why another build takes two commands, where it does."""
    return " The first command replaces the build, the second adds what it requires." if len(commands) > 1 else ""
