"""A package that asks a program about the GPU which is not there."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import PackageImport
from gpudoctor.fixes.loading import on_path
from gpudoctor.knowledge.import_errors import StartedProgram, not_started
from gpudoctor.queries.gpus import amd_gpus
from gpudoctor.queries.loading import imports_of, know_all
from gpudoctor.targets import OnPython, pythons


def _blind(on: OnPython) -> tuple[PackageImport, StartedProgram, str] | None:
    """The first package whose import names such a program as not found."""
    for one in imports_of(on.python):
        if found := not_started(one.stderr):
            return one, *found
    return None


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found = _blind(on)
    return on_path(on, found[0], found[2], found[1].system) if found else ()


@check(
    title="A program that a package asks about the GPU is not on PATH (rocminfo)",
    severity=Severity.WARNING,
    cause="The package starts a program of ROCm to learn about the GPU. Wheels and slim images do not contain it, and "
    "the package goes on without its answer.",
    fixes=_fixes,
    references=(
        "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1444",
        "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1969",
    ),
    targets=pythons,
    only_with=("pythons.imports",),
    caused_by=("rocm.half-installed",),
    affects=("extensions",),
    validated_on=("simulated 2026-11",),
)
def program_missing(on: OnPython) -> Problem | None:
    """What an import wrote names a program of the table as not found, with an AMD GPU here."""
    found = _blind(on) if amd_gpus(on.facts) else None
    if found is None:
        if amd_gpus(on.facts):
            know_all(on.python)
        return None
    one, row, name = found
    message = f"{one.package} {one.version} starts {name} when it is imported, which is not on PATH: {row.lost}."
    lines = tuple(line.strip()[:400] for line in one.stderr.splitlines() if name in line)[:4]
    return Problem(message, lines)
