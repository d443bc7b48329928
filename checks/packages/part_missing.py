"""A package without the part of it that its framework needs."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check, names
from gpudoctor.facts import Package
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge.release_families import Part, release_families
from gpudoctor.maybe import known
from gpudoctor.parsers.metadata import normalise
from gpudoctor.queries.gpus import nvidia_gpus
from gpudoctor.queries.libraries import cuda_major
from gpudoctor.queries.packages import numbers, package, packages_of, release
from gpudoctor.targets import NAMES, OnPython, pythons
from gpudoctor.tasks import cmd


def _lacking(on: OnPython) -> tuple[Part, Package] | None:
    """The first package that lists such a part under an extra and of which none is installed."""
    there = {p.name for p in packages_of(on.python)}
    for part in release_families().part:
        owner = package(on.python, part.of)
        wanted = owner and numbers(owner.version) >= numbers(part.since) and part.framework in ("", *there)
        off = part.unless and on.facts.host.environment.get(part.unless) == "0"
        if not (owner and wanted) or off or not there.isdisjoint(part.one_of) or not _lists(owner, part):
            continue
        if not part.gpu or (nvidia_gpus(on.facts) and _extra(on, owner, part)):
            return part, owner
    return None


def _lists(owner: Package, part: Part) -> bool:
    """Whether this release is split: a build from source holds every part in one distribution, and lists none."""
    lines = (normalise(line) for line in owner.requires if "extra" in line)
    return any(line.startswith(part.one_of[0]) for line in lines)


def _extra(on: OnPython, owner: Package, part: Part) -> str:
    """The extra for the CUDA that is here, or the newest older one that is listed; "" without any."""
    most = cuda_major(on.facts, on.python)
    if not part.gpu:
        return part.extra.format(major=most)
    listed = {int(found) for line in owner.requires for found in re.findall(r"extra == ['\"]cuda(\d+)", line)}
    fitting = [number for number in listed if number <= most]
    return part.extra.format(major=max(fitting)) if fitting else ""


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found = _lacking(on)
    if found is None:
        return ()
    part, owner = found
    extra = _extra(on, owner, part)
    note = f"; {part.note}" if part.note else ""
    message = f"Install {part.of} {release(owner.version)} with its extra {extra}{note}.{lasting(on.facts)}"
    command = install(on.python, f"{part.of}[{extra}]=={release(owner.version)}", options=part.options)
    module = part.of.replace("-", "_")
    code = f"import {part.framework}, {module}.{extra}" if part.framework else f"import {module}"
    proof = cmd(on.python.path, "-m", part.proof) if part.proof else verify(on.python, code)
    return (Fix(message, (command,), "reinstall-package", verify=proof),)


@check(
    title="A package is installed without a part that it needs (pip extra)",
    severity=Severity.WARNING,
    cause="The package is split: its interface to each framework, or to each CUDA release, is a distribution of its "
    "own, which pip installs only with the extra of that name.",
    fixes=_fixes,
    references=(
        "https://github.com/NVIDIA/TransformerEngine/issues/1981",
        "https://github.com/NVIDIA/TransformerEngine/issues/2505",
        "https://github.com/NVIDIA/numba-cuda/issues/294",
        "https://github.com/openmm/openmm/issues/4706",
    ),
    targets=pythons,
    only_with=(f"pythons.packages.name={names(row.of for row in release_families().part)}",),
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
    name = NAMES.get(part.framework, part.framework)
    role = f", its part for {name}, which is not installed" if name else ""
    message = f"{owner.name} {owner.version} is installed without {part.one_of[0]}{role}: {part.effect}."
    return Problem(message, severity=Severity.ADVICE if part.gpu else None)
