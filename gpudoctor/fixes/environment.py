"""Fixes for variables and directories around a Python environment."""

from collections.abc import Iterable
from posixpath import commonpath

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, Python
from gpudoctor.fixes import system
from gpudoctor.knowledge import packages
from gpudoctor.targets import in_container
from gpudoctor.tasks import Command, Task, cmd, export, unset

_MOST = 3  # directories that a sentence lists


def without_library_path(
    facts: Facts, directories: Iterable[str], verify: Task | None = None, libraries: str = "CUDA libraries"
) -> Fix:
    """Remove directories from LD_LIBRARY_PATH, in this shell and where it is set.

    Args:
        facts: the machine.
        directories: those with the wrong copies, as the variable lists them.
        verify: the command that verifies the fix.
        libraries: what the wheels include.
    """
    wrong = {directory.rstrip("/") for directory in directories}
    value = facts.host.environment.get("LD_LIBRARY_PATH", "")
    rest = [part for part in value.split(":") if part and part.rstrip("/") not in wrong]
    command = export("LD_LIBRARY_PATH", ":".join(rest)) if rest else unset("LD_LIBRARY_PATH")
    return Fix(
        f"Remove {_listed(sorted(wrong))} from LD_LIBRARY_PATH: the wheels include their own {libraries} and find "
        f"them without it. {_where_set(facts, wrong)}",
        (command,),
        "change-environment",
        undo=(export("LD_LIBRARY_PATH", value),) if value else (),
        verify=verify,
    )


def _listed(directories: list[str]) -> str:
    many = len(directories) > _MOST and all(directory.startswith("/") for directory in directories)
    below = commonpath(directories) if many else "/"
    if below != "/":
        return f"the {len(directories)} directories below {below}"
    return " and ".join(directories) or "the directory"


def _where_set(facts: Facts, directories: Iterable[str]) -> str:
    if in_container(facts):
        return "To make it permanent, remove it from the image's ENV lines."
    if any(
        word in directory
        for directory in directories
        for word in ("/apps/", "/modules/", "/spack/", "/sw/", "/easybuild/")
    ):
        return "To make it permanent, unload the module that sets it (`module list`, `module unload NAME`)."
    return "To make it permanent, remove the line from ~/.bashrc, ~/.profile, /etc/environment or /etc/profile.d."


def install_system(facts: Facts, *names: str) -> tuple[Command, ...]:
    """The commands that install distribution packages; images have no package lists."""
    bare = in_container(facts) and system.family_of(facts) == "debian"
    refresh = (packages.refresh_command("debian"),) if bare else ()
    return (*refresh, *system.install(facts, *names))


def own_environment(python: Python, *specs: str) -> tuple[Command, ...]:
    """The commands that create a second environment next to this one and install into it."""
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
