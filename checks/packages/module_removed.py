"""A package imports a module that a newer release of another one no longer has."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package, PackageImport
from gpudoctor.fixes.bounds import clash
from gpudoctor.fixes.loading import import_proof
from gpudoctor.fixes.other_release import newer
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge.release_families import Removed, ended, release_families
from gpudoctor.knowledge.wanted import of_command
from gpudoctor.maybe import known, text_of
from gpudoctor.parsers.metadata import required_name
from gpudoctor.queries.frameworks import first_line
from gpudoctor.queries.loading import failures
from gpudoctor.queries.packages import numbers, package
from gpudoctor.targets import OnPython, pythons


def _found(on: OnPython) -> tuple[Removed, Package, list[tuple[PackageImport, str]]] | None:
    """The first row of the table that explains failed imports, the package that dropped the module, and those."""
    for row in release_families().removed:
        owner = package(on.python, row.package)
        if owner and numbers(owner.version) >= numbers(row.since):
            failing = [(one, error) for one, error in failures(on.python) if re.search(row.pattern, error)]
            # What imports a package that ended fails over the same import, and an upgrade of it does not help.
            failing.sort(key=lambda each: ended(each[0].package, each[0].version) is None)
            if failing:
                return row, owner, failing
    return None


def _breaks(on: OnPython, row: Removed, user: str) -> bool:
    """Whether another package requires a release without the module: PyTorch for CUDA 13 does cuda-bindings 13."""
    name = required_name(row.older)
    specs = (f"{one}{row.older[len(name) :]}" for one in {name, row.package})
    return any(clash(on.python, spec, but=(user, name, row.package)) for spec in specs)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found = _found(on)
    if found is None:
        return ()
    row, _, ((first, _), *_) = found
    message = f"Upgrade {first.package} to a release that imports {row.now}."
    if not row.has_older(text_of(on.python.version)) or _breaks(on, row, first.package):
        return (newer(on, first, message, row.package),)
    older = f"Install {row.older}, which still has it.{lasting(on.facts)}"
    fix = Fix(older, (install(on.python, row.older),), "reinstall-package", verify=import_proof(on, first))
    return fix, newer(on, first, message, row.package)


@check(
    title="A package uses what a newer release of another one removed",
    severity=Severity.ERROR,
    cause="A release dropped a module, function or argument that was deprecated before. A package that was written for "
    "the older one and does not bound the version in its requirements is installed with the newer one, and fails when "
    "it is imported.",
    fixes=_fixes,
    references=(
        "https://nvidia.github.io/cuda-python/cuda-bindings/latest/release/13.0.0-notes.html",
        "https://github.com/SpikeInterface/spikeinterface/pull/4110",
        "https://github.com/XPixelGroup/BasicSR/issues/649",
    ),
    targets=pythons,
    only_with=("pythons.imports pythons.packages?",),
    caused_by=("python.*", "packages.undeclared-requirement", "packages.built-for-another-torch"),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def module_removed(on: OnPython) -> Problem | None:
    """The import of a package names a module of the table, and the installed release is one without it."""
    known(on.python.imports)
    found = _found(on)
    if found is None:
        return None
    row, owner, ((first, error), *others) = found
    more = f" The same applies to {', '.join(sorted(one.package for one, _ in others))}." if others else ""
    packages = tuple(one.package for one, _ in found[2])
    mild = all(one.part in of_command(one.package) for one, _ in found[2])
    command = f"The command {first.package} does not start, which no program needs: " if mild else ""
    message = (
        f"{command}{first.statement} ({first.package} {first.version}) fails: {first_line(error).rstrip('.')}. "
        f"{owner.name} {owner.version} no longer has that; it was removed in {row.since}.{more}"
    )
    lacks = re.search(row.pattern, error)
    return Problem(
        message,
        (error[:500],),
        severity=Severity.ADVICE if mild else None,
        failing=first.package,
        breaks=packages,
        words=(lacks[0],) if lacks else (),
    )
