"""A package without the part of it that its framework needs."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge.release_families import Part, release_families
from gpudoctor.maybe import known
from gpudoctor.parsers.metadata import normalise
from gpudoctor.queries.packages import package, packages_of, release
from gpudoctor.targets import NAMES, OnPython, pythons


def _lacking(on: OnPython) -> tuple[Part, Package] | None:
    """The first package that lists such a part under an extra and of which none is installed."""
    there = {p.name for p in packages_of(on.python)}
    for part in release_families().part:
        owner = package(on.python, part.of)
        if owner and part.framework in there and there.isdisjoint(part.one_of) and _lists(owner, part):
            return part, owner
    return None


def _lists(owner: Package, part: Part) -> bool:
    """Whether this release is split: a build from source holds every part in one distribution, and lists none."""
    lines = (normalise(line) for line in owner.requires if "extra" in line)
    return any(line.startswith(part.one_of[0]) for line in lines)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found = _lacking(on)
    if found is None:
        return ()
    part, owner = found
    note = f"; {part.note}" if part.note else ""
    message = f"Install {part.of} {release(owner.version)} with its extra {part.extra}{note}.{lasting(on.facts)}"
    command = install(on.python, f"{part.of}[{part.extra}]=={release(owner.version)}", options=part.options)
    code = f"import {part.framework}, {part.of.replace('-', '_')}.{part.extra}"
    return (Fix(message, (command,), "reinstall-package", verify=verify(on.python, code)),)


@check(
    title="A package is installed without its part for the framework",
    severity=Severity.WARNING,
    cause="The package is split: its interface to each framework is a distribution of its own, which pip installs only "
    "with the extra of that name.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/TransformerEngine/issues/1981",
        "https://github.com/NVIDIA/TransformerEngine/issues/2505",
    ),
    targets=pythons,
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def part_missing(on: OnPython) -> Problem | None:
    """None of the parts that a package lists under extras is installed, and the framework is."""
    known(on.python.packages)
    found = _lacking(on)
    if found is None:
        return None
    part, owner = found
    framework = NAMES.get(part.framework, part.framework)
    return Problem(
        f"{owner.name} {owner.version} is installed without {part.one_of[0]}, its part for {framework}, which is not "
        f"installed: {part.effect}."
    )
