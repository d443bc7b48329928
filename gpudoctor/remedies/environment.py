"""Fixes of variables and folders around a Python environment."""

import shlex
from collections.abc import Iterable

from gpudoctor.facts import Facts, Python
from gpudoctor.judge import Fix
from gpudoctor.knowledge import packages
from gpudoctor.remedies import system
from gpudoctor.subjects import in_container


def without_library_path(facts: Facts, folders: Iterable[str], verify: str | None = None, brought: str = "CUDA") -> Fix:
    """Take folders out of LD_LIBRARY_PATH, in this shell and where it is set.

    Args:
        facts: the machine.
        folders: those that hold the wrong copies, as the variable writes them.
        verify: the command that shows that it helped.
        brought: whose libraries the wheels bring.
    """
    wrong = {folder.rstrip("/") for folder in folders}
    value = facts.host.environment.get("LD_LIBRARY_PATH", "")
    rest = [part for part in value.split(":") if part and part.rstrip("/") not in wrong]
    command = f"export LD_LIBRARY_PATH={':'.join(rest)}" if rest else "unset LD_LIBRARY_PATH"
    return Fix(
        f"Take {' and '.join(sorted(wrong)) or 'the folder'} out of LD_LIBRARY_PATH: the wheels bring their own "
        f"{brought} libraries and find them without it. {_where_set(facts, wrong)}",
        (command,),
        "change-environment",
        undo=f"export LD_LIBRARY_PATH={shlex.quote(value)}" if value else None,
        verify=verify,
    )


def _where_set(facts: Facts, folders: Iterable[str]) -> str:
    if in_container(facts):
        return "To last, take it out of the ENV lines of the image."
    if any(word in folder for folder in folders for word in ("/apps/", "/modules/", "/spack/", "/sw/", "/easybuild/")):
        return "To last, unload the module that sets it (`module list`, `module unload NAME`)."
    return "To last, take the line out of ~/.bashrc, ~/.profile, /etc/environment or /etc/profile.d."


def sudo(facts: Facts, commands: Iterable[str]) -> tuple[str, ...]:
    """Commands as they stand for this user: root in a container has no sudo and needs none."""
    root = facts.host.user.uid == 0 and in_container(facts)
    return tuple(c.removeprefix("sudo ") if root else c for c in commands)


def install_system(facts: Facts, *names: str) -> tuple[str, ...]:
    """The commands that install packages of the distribution, for this user; images come without lists of packages."""
    bare = in_container(facts) and system.family_of(facts) == "debian"
    refresh = (packages.refresh_command("debian"),) if bare else ()
    return sudo(facts, (*refresh, *system.install(facts, *names)))


def own_environment(python: Python, *specs: str) -> tuple[str, ...]:
    """The commands that make a second environment beside this one and install into it."""
    prefix = python.prefix if isinstance(python.prefix, str) else "env"
    base = python.version if isinstance(python.version, str) else ""
    minor = ".".join(base.split(".")[:2])
    place = shlex.quote(f"{prefix}-{_short(specs)}")
    words = " ".join(shlex.quote(s) for s in specs)
    if python.manager == "uv":
        return (f"uv venv --python {minor or '3'} {place}", f"uv pip install --python {place}/bin/python {words}")
    return (f"python{minor} -m venv {place}", f"{place}/bin/python -m pip install {words}")


def _short(specs: Iterable[str]) -> str:
    first = next(iter(specs), "new")
    return "".join(c for c in first.partition("[")[0] if c.isalnum() or c in "-_")
