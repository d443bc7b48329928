"""An environment made again in another directory, by the installer that manages it."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Python
from gpudoctor.fixes.pip import Installer, pip
from gpudoctor.fixes.python import manager_of, manifest_of, pixi, project_of
from gpudoctor.knowledge.torch import index_of_build
from gpudoctor.queries.packages import packages_of
from gpudoctor.tasks import Shell, Task, Tasks, cmd, query
from gpudoctor.tasks.as_typed import shown

_LIST = "/tmp/packages.txt"
_DETACHED = "detached-environments"  # of pixi: outside of the project, in the user's cache


def elsewhere(python: Python, new: str, *before: Task, proof: str) -> Fix:
    """Make the environment again in a directory whose path has no space.

    Args:
        python: the environment.
        new: the new environment's directory.
        before: what comes before the new environment is made.
        proof: the program that shows that the new environment works.
    """
    message = "Recreate the environment in a directory whose path has no space{}."
    made = f"{new}/bin/python"
    verify, undo = query(made, "-c", proof), (cmd("rm", "-r", new),)
    project = project_of(python)
    if manager_of(python) == "pixi":
        source, verify = ", by pixi", pixi(python, "run", "python", "-c", proof)
        tasks: Tasks = (
            *before,
            cmd("pixi", "config", "set", "--local", *manifest_of(python), _DETACHED, "true"),
            pixi(python, "install"),
        )
        undo = (cmd("pixi", "config", "unset", "--local", *manifest_of(python), _DETACHED),)
    elif project and manager_of(python) == "uv":
        source = f", from the project's lock file. Set UV_PROJECT_ENVIRONMENT={new} for all later commands of uv, too"
        sync = cmd("uv", "sync", "--project", project, env=(("UV_PROJECT_ENVIRONMENT", new),))
        tasks = (*before, sync)
    elif project:
        source = ", from the project's lock file. Activate it before later commands of poetry"
        install = cmd("poetry", "--directory", project, "install", env=(("VIRTUAL_ENV", new),))
        tasks = (*before, cmd(python.path, "-m", "venv", new), install)
    elif manager_of(python) == "conda" and isinstance(python.prefix, str):
        source = ", as a clone, which contains pip's packages too"
        tasks = (*before, cmd("conda", "create", "-p", new, "--clone", python.prefix))
    else:
        source, tasks = ", from the list of its packages", from_list(python, new, *before)
    return Fix(message.format(source), tasks, "reinstall-package", undo=undo, verify=verify)


def from_list(python: Python, new: str, *before: Task) -> Tasks:
    """List the packages, make the environment and install them there, PyTorch's builds from its own index.

    Args:
        python: whose packages are listed; its interpreter makes the new environment.
        new: the new environment's directory.
        before: what comes before the new environment is made.
    """
    installer: Installer = "uv" if manager_of(python) == "uv" else "pip"
    indexes = dict.fromkeys(index for p in packages_of(python) if (index := index_of_build(p.version)))
    sources = [word for index in indexes for word in ("--extra-index-url", index)]
    make = cmd(python.path, "-m", "venv", new)
    if installer == "uv":
        make = cmd("uv", "venv", "--python", python.path, new)
        # uv otherwise takes a package only from the first index that has it, in whatever releases
        sources += ["--index-strategy", "unsafe-best-match"] if indexes else []
    # a pipe would hide that the environment has no pip, and an empty list installs nothing without an error
    listed = Shell(f"{shown(pip(installer, python.path, 'freeze'))} > {_LIST}")
    install = cmd(*pip(installer, f"{new}/bin/python", "install", *sources, "-r", _LIST).argv)
    return (listed, *before, make, install)


def in_place(python: Python) -> Fix | None:
    """Make a project's own environment, .venv, again from its lock file; None: there is no such project."""
    project = project_of(python)
    if project is None or python.prefix != f"{project}/.venv":
        return None
    old, aside = python.prefix, f"{python.prefix}-moved"
    install = cmd("uv", "sync", "--project", project)
    if manager_of(python) == "poetry":
        install = cmd("poetry", "--directory", project, "install", env=(("POETRY_VIRTUALENVS_IN_PROJECT", "true"),))
    return Fix(
        "Recreate the environment from the project's lock file, with the extras and groups that you use. What is not "
        "in the lock file is not in the new environment.",
        (cmd("mv", old, aside), install),
        "reinstall-package",
        undo=(cmd("rm", "-r", old), cmd("mv", aside, old)),
    )
