"""A package of PyPI that only has the name of a GPU package (apex, nunchaku, clip, whisper)."""

from gpudoctor.check_engine import Fix, Problem, Severity, check, names
from gpudoctor.facts import Package
from gpudoctor.fixes.other_projects import meant
from gpudoctor.fixes.python import lasting, uninstall
from gpudoctor.knowledge.requests import OtherProject, other_project
from gpudoctor.knowledge.wanted import wanted
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import packages_of
from gpudoctor.targets import OnPython, pythons


def _found(on: OnPython) -> tuple[OtherProject, Package] | None:
    """The first such package in an environment with PyTorch, and with what uses the one that is meant."""
    there = {p.name: p for p in packages_of(on.python)}
    for name in wanted().other_projects:  # the table is read only where one is installed
        owner = there.get(name)
        row = other_project(name, owner.version) if owner and one_of(on.python, "torch") else None
        if owner and row and (not row.users or not there.keys().isdisjoint(row.users)):
            return row, owner
    return None


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found = _found(on)
    if found is None:
        return ()
    row, owner = found
    where, command = meant(on, row)
    tasks = (uninstall(on.python, owner.name), *((command,) if command else ()))
    return (Fix(f"Uninstall it. {where}{lasting(on.facts)}", tasks, "reinstall-package"),)


@check(
    title="An installed package is another project of the same name",
    severity=Severity.WARNING,
    cause="The project that is meant is not on PyPI, or has another name there. `pip install` with its plain name "
    "takes whatever has that name: another project, or an empty placeholder. The import fails, or finds nothing.",
    fixes=_fixes,
    references=(
        "https://pypi.org/project/apex/",
        "https://github.com/zai-org/CogVLM/pull/277",
        "https://github.com/nunchux-ai/ComfyUI-nunchaku/issues/337",
        "https://github.com/openai/whisper#setup",
    ),
    targets=pythons,
    only_with=(f"pythons.packages.name={names(wanted().other_projects)}",),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
    aliases=("packages.other-apex",),
)
def another_project(on: OnPython) -> Problem | None:
    """A row of the table: a package by its name and version, next to PyTorch and what would use it."""
    known(on.python.packages)
    found = _found(on)
    if found is None:
        return None
    row, owner = found
    return Problem(f"{owner.name} {owner.version} is PyPI's {row.what}, not {row.meant}.")
