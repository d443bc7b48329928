"""Fixes of variables and folders around a Python environment."""

from collections.abc import Iterable

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, Python
from gpudoctor.fixes import system
from gpudoctor.knowledge import packages
from gpudoctor.targets import in_container
from gpudoctor.tasks import Command, Task, cmd, export, unset


def without_library_path(
    facts: Facts, folders: Iterable[str], verify: Task | None = None, brought: str = "CUDA"
) -> Fix:
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
    command = export("LD_LIBRARY_PATH", ":".join(rest)) if rest else unset("LD_LIBRARY_PATH")
    return Fix(
        f"Take {' and '.join(sorted(wrong)) or 'the folder'} out of LD_LIBRARY_PATH: the wheels bring their own "
        f"{brought} libraries and find them without it. {_where_set(facts, wrong)}",
        (command,),
        "change-environment",
        undo=(export("LD_LIBRARY_PATH", value),) if value else (),
        verify=verify,
    )


def _where_set(facts: Facts, folders: Iterable[str]) -> str:
    if in_container(facts):
        return "To last, take it out of the ENV lines of the image."
    if any(word in folder for folder in folders for word in ("/apps/", "/modules/", "/spack/", "/sw/", "/easybuild/")):
        return "To last, unload the module that sets it (`module list`, `module unload NAME`)."
    return "To last, take the line out of ~/.bashrc, ~/.profile, /etc/environment or /etc/profile.d."


def install_system(facts: Facts, *names: str) -> tuple[Command, ...]:
    """The commands that install packages of the distribution; images come without lists of packages."""
    bare = in_container(facts) and system.family_of(facts) == "debian"
    refresh = (packages.refresh_command("debian"),) if bare else ()
    return (*refresh, *system.install(facts, *names))


def own_environment(python: Python, *specs: str) -> tuple[Command, ...]:
    """The commands that make a second environment beside this one and install into it."""
    prefix = python.prefix if isinstance(python.prefix, str) else "env"
    base = python.version if isinstance(python.version, str) else ""
    minor = ".".join(base.split(".")[:2])
    place = f"{prefix}-{_short(specs)}"
    if python.manager == "uv":
        return (
            cmd("uv", "venv", "--python", minor or "3", place),
            cmd("uv", "pip", "install", "--python", f"{place}/bin/python", *specs),
        )
    return (cmd(f"python{minor}", "-m", "venv", place), cmd(f"{place}/bin/python", "-m", "pip", "install", *specs))


def _short(specs: Iterable[str]) -> str:
    first = next(iter(specs), "new")
    return "".join(c for c in first.partition("[")[0] if c.isalnum() or c in "-_")
