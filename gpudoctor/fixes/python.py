"""Fixes inside a Python environment, with the installer that manages it: uv, pip, conda, pixi or poetry."""

import re
from collections.abc import Sequence

from gpudoctor.check_engine import Fix
from gpudoctor.facts import CondaPackage, Facts, Python
from gpudoctor.fixes.pip import Installer, only, pip, replace
from gpudoctor.maybe import Unknown, known_or, present
from gpudoctor.queries.packages import packages_of
from gpudoctor.targets import in_container
from gpudoctor.tasks import Command, Edit, FileSection, Task, Tasks, cmd, export, unset

NEW = "~/gpu-env"  # an environment that a fix creates
REMOVE_NEW = cmd("rm", "-r", NEW)


def manager_of(python: Python) -> str:
    """The installer of this environment; pip where it is unknown, because it is everywhere."""
    return "pip" if isinstance(python.manager, Unknown) else python.manager


def install(
    python: Python,
    *specs: str,
    index: str | None = None,
    upgrade: bool = False,
    force: bool = False,
    no_deps: bool = False,
    options: Sequence[str] = (),
) -> Command:
    """The command that installs packages from PyPI into this environment.

    Args:
        python: the environment.
        specs: requirements, "torch==2.7.1".
        index: the address of another package index, as --index-url.
        upgrade: take a newer version although one is there.
        force: install again although it is there.
        no_deps: leave dependencies alone.
        options: further options of pip, each word for itself.
    """
    source, env, note = only(_installer(python), index, known_or(python.extra_index, None))
    flags = [*source, *(("--no-deps",) if no_deps else ()), *options]
    manager = manager_of(python)
    if not (force or flags) and (into := _into_project(python)):
        return cmd(*into, *(_newer(manager, specs) if upgrade else specs), person=not _is_found(python))
    newer = ("--upgrade",) if upgrade else ()
    again = () if not force else ("--reinstall",) if manager == "uv" else ("--force-reinstall",)
    words = (*_permission(python), *newer, *again, *flags, *specs)
    return pip(_installer(python), python.path, "install", *words, env=env, note=note)


def without_user_site(verify: Task | None) -> Fix:
    """Have Python pass over what lies in ~/.local.

    https://docs.python.org/3/using/cmdline.html#envvar-PYTHONNOUSERSITE

    Args:
        verify: the command that verifies the fix.
    """
    return Fix(
        "Disable the user site for this environment, here and in the job or image that starts it.",
        (export("PYTHONNOUSERSITE", "1"),),
        "change-environment",
        undo=(unset("PYTHONNOUSERSITE"),),
        verify=verify,
    )


def project_of(python: Python) -> str | None:
    """The directory of the project of uv or poetry whose lock file decides what is installed here; None: none."""
    return python.project if manager_of(python) in ("uv", "poetry") and isinstance(python.project, str) else None


def _into_project(python: Python) -> tuple[str, ...]:
    """The arguments that add packages to a project's own file; none where there is none."""
    manager = manager_of(python)
    if manager == "pixi":
        return ("pixi", "add", *manifest_of(python), "--pypi")
    if (project := project_of(python)) is None:
        return ()
    return ("uv", "add", "--project", project) if manager == "uv" else ("poetry", "--directory", project, "add")


def manifest_of(python: Python) -> tuple[str, ...]:
    """The arguments that select pixi's workspace; none where that is not known."""
    prefix = python.prefix if isinstance(python.prefix, str) else ""
    place = python.project if isinstance(python.project, str) else prefix.partition("/.pixi/")[0]
    return ("--manifest-path", place) if place and (place == python.project or "/.pixi/" in prefix) else ()


def pixi(python: Python, *arguments: str) -> Command:
    """A command of pixi's, which otherwise looks for the workspace in the working directory.

    What it installs and runs is otherwise of the environment `default`.
    """
    verb, *rest = arguments
    place, prefix = manifest_of(python), python.prefix if isinstance(python.prefix, str) else ""
    name = prefix.partition("/.pixi/envs/")[2].partition("/")[0]
    other = ("-e", name) if verb in ("clean", "install", "reinstall", "run") and name not in ("", "default") else ()
    return cmd("pixi", verb, *place, *other, *rest, person=not place)


def _is_found(python: Python) -> bool:
    """Whether the project is known by its path, so that its manager finds it from everywhere."""
    return manager_of(python) != "pixi" or bool(manifest_of(python))


def _newer(manager: str, specs: Sequence[str]) -> list[str]:
    """The arguments with which a project's manager takes a newer version than the locked one."""
    names = [re.match(r"[\w.-]*", spec)[0] for spec in specs]  # type: ignore[index]
    if manager == "uv":
        return [*(word for name in names for word in ("--upgrade-package", name)), *specs]
    if manager == "poetry":  # which skips an installed package without a constraint
        return [f"{s}@latest" if s == name else s for s, name in zip(specs, names, strict=True)]
    return list(specs)


def add(python: Python, *specs: str, upgrade: bool = False) -> tuple[Command, ...]:
    """The commands that install packages where they stay: in a project its own file decides.

    The next `uv sync` or `poetry sync` undoes what pip installs outside the lock file; pixi's environments have no
    pip of their own.
    """
    if into := _into_project(python):
        return (cmd(*into, *specs, person=not _is_found(python)),)
    return (install(python, *specs, upgrade=upgrade),)


def another_build(python: Python, *names: str, index: str | None) -> Tasks:
    """The commands that install these packages from an index, over those in this environment."""
    configured = known_or(python.extra_index, None)
    return replace(_installer(python), python.path, index, names, *_permission(python), configured=configured)


def uninstall(python: Python, *names: str) -> Command:
    """The command that removes packages."""
    sure = () if manager_of(python) == "uv" else ("-y",)
    return pip(_installer(python), python.path, "uninstall", *sure, *_permission(python), *names)


def _installer(python: Python) -> Installer:
    return "uv" if manager_of(python) == "uv" else "pip"


def _permission(python: Python) -> tuple[str, ...]:
    """The option without which pip and uv refuse to change a Python that the distribution manages (PEP 668).

    What is fixed there was installed by pip, and so by somebody who used this option or removed the marker file.
    """
    return ("--break-system-packages",) if python.externally_managed is True else ()


def conda_install(python: Python, *specs: str, channel: str | None = "conda-forge") -> Command:
    """The command that installs conda packages here, by conda or pixi; without a channel, from the user's own."""
    if manager_of(python) == "pixi":
        return pixi(python, "add", *specs)
    return cmd("conda", "install", *prefix_of(python), *(("-c", channel) if channel else ()), *specs)


def conda_again(python: Python, *packages: CondaPackage) -> Command:
    """The command that installs conda packages again in the same build, by conda or pixi."""
    if manager_of(python) == "pixi":
        return pixi(python, "reinstall", *(one.name for one in packages))
    builds = (f"{one.name}={one.version}={one.build}" for one in packages)
    return cmd("conda", "install", *prefix_of(python), "--force-reinstall", *builds)


def prefix_of(python: Python) -> tuple[str, ...]:
    """The arguments that select conda's environment."""
    return () if isinstance(python.prefix, Unknown) else ("-p", python.prefix)


def lasting(facts: Facts) -> str:
    """How to keep the change in a container, or in a project with a lock file."""
    if in_container(facts):
        return " Add it to the image's Dockerfile too, or it is lost with this container."
    locked = [p for p in facts.pythons if project_of(p)]
    if len(facts.pythons) != 1 or not locked:
        return ""
    again = "`uv sync` or `uv run`" if manager_of(locked[0]) == "uv" else "`poetry sync`"
    return f" Add it to {present(locked[0].project)}/pyproject.toml too, or the next {again} will undo it."


def conda_of(python: Python) -> tuple[CondaPackage, ...]:
    """The packages that conda installed; none where that is unknown."""
    return () if isinstance(python.conda, Unknown) or python.conda is None else python.conda


def uv_index(directory: str, name: str, index: str, packages: Sequence[str]) -> Edit:
    """The lines of pyproject.toml: https://docs.astral.sh/uv/guides/integration/pytorch/#using-a-pytorch-index.

    Args:
        directory: the project's.
        name: what the index is called.
        index: its address.
        packages: what comes from it.
    """
    return Edit(
        f"{directory}/pyproject.toml",
        sections=(
            FileSection("[[tool.uv.index]]", (f'name = "{name}"', f'url = "{index}"', "explicit = true")),
            FileSection("[tool.uv.sources]", tuple(f'{package} = {{ index = "{name}" }}' for package in packages)),
        ),
    )


def new_environment(python: Python, minor: str, *arguments: str) -> tuple[Command, ...]:
    """The commands that create an environment with another Python version, which uv downloads, and fill it.

    Args:
        python: the environment with the current version.
        minor: the new version.
        arguments: what is installed, with pip's options.
    """
    uv = ("uv",) if manager_of(python) == "uv" else (python.path, "-m", "uv")
    first = () if manager_of(python) == "uv" else (install(python, "uv"),)
    return (
        *first,
        cmd(*uv, "venv", "--python", minor, NEW),
        cmd(*uv, "pip", "install", "--python", NEW, *arguments),
    )


def from_distribution(python: Python, names: Sequence[str]) -> bool:
    """Whether the distribution's package manager installed PyTorch: pip can then neither remove nor replace it."""
    return any(p.name in names and p.directory.startswith("/usr/lib") for p in packages_of(python))


def has(python: Python, name: str) -> bool:
    """Whether a distribution is known to be installed."""
    return version_of(python, name) is not None


def version_of(python: Python, name: str) -> str | None:
    """The installed version of a distribution; None where it is not installed or unknown. For texts only."""
    return next((p.version for p in packages_of(python) if p.name == name), None)
