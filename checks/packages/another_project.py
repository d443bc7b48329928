"""A package of PyPI that only has the name of a GPU package (apex, nunchaku, clip, whisper)."""

import msgspec

from gpudoctor.check_engine import Fix, Problem, Severity, check, names
from gpudoctor.facts import Package
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.knowledge.requests import OtherProject, other_project
from gpudoctor.knowledge.wanted import wanted
from gpudoctor.maybe import known, text_of
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import packages_of, release
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks.placeholders import RELEASE


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
    torch, python = one_of(on.python, "torch"), text_of(on.python.version).split(".")[:2]
    words = {
        "torch": ".".join(release(text_of(torch.version)).split(".")[:2]) if torch else "",
        "tag": f"cp{''.join(python)}",
        "arch": text_of(on.facts.host.architecture),
    }
    tasks = [uninstall(on.python, owner.name)]
    if row.install and all(words.values()):
        blanks = (RELEASE,) if RELEASE.name in row.install else ()
        tasks.append(msgspec.structs.replace(install(on.python, row.install.format(**words)), placeholders=blanks))
    message = f"Uninstall it. {row.instead.format(**words)}{lasting(on.facts)}"
    return (Fix(message, tuple(tasks), "reinstall-package"),)


@check(
    title="An installed package is another project of the same name (apex, nunchaku, clip, whisper)",
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
