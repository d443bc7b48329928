"""Reinstall the same release of a package, from where it came."""

from collections.abc import Iterable

from gpudoctor.facts import Package, Python
from gpudoctor.fixes.python import install, manager_of
from gpudoctor.fixes.torch_build import TORCH_FAMILY
from gpudoctor.knowledge.torch import index_of_build
from gpudoctor.queries.packages import packages_of, release
from gpudoctor.tasks import Command, cmd


def same_again(python: Python, name: str, version: str, *, over: bool = False) -> Command:
    """The command that installs a release of a package again, from the index that it came from.

    Args:
        python: the environment.
        name: the package.
        version: with its local part, such as "2.7.1+cu126", which names PyTorch's own index.
        over: put its files over those that are there, and leave its dependencies: their metadata is damaged, so that
            it cannot be removed first.
    """
    spec, index = f"{name}=={release(version)}", _index(python, name, version)
    if not over:
        return install(python, spec, index=index)
    by_uv = manager_of(python) == "uv"  # which works without a RECORD; pip refuses, unless it ignores what is installed
    options = () if by_uv else ("--ignore-installed",)
    return install(python, spec, index=index, force=by_uv, no_deps=True, options=options)


def replaced(python: Python, packages: Iterable[Package]) -> tuple[Command, ...]:
    """The commands that replace damaged packages by the same releases, from the index that each came from."""
    by_index: dict[str | None, list[str]] = {}
    for package in packages:
        spec = f"{package.name}=={release(package.version)}"
        by_index.setdefault(_index(python, package.name, package.version), []).append(spec)
    return tuple(install(python, *specs, index=i, force=True, no_deps=True) for i, specs in by_index.items())


def _index(python: Python, name: str, version: str) -> str | None:
    """PyTorch's own index where this release, or what was installed together with it, came from there."""
    if name not in TORCH_FAMILY:
        return None
    versions = (version, *(p.version for p in packages_of(python) if p.name in TORCH_FAMILY and p.name != name))
    return next(filter(None, map(index_of_build, versions)), None)


def remove(paths: Iterable[str]) -> tuple[Command, ...]:
    """The commands that remove files and directories that were seen."""
    return tuple(cmd("rm", "-r", path) for path in paths)
