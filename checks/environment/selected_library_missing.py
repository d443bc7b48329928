"""A variable selects a library of a package that the package does not contain."""

from gpudoctor.check_engine import Fix, Problem, Severity, check, names
from gpudoctor.facts import Package
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.variables import assign, unset
from gpudoctor.knowledge.variables import Selects, variables
from gpudoctor.maybe import known, text_of
from gpudoctor.queries.packages import package
from gpudoctor.targets import OnFramework, torches
from gpudoctor.tasks import Task


def _found(on: OnFramework) -> tuple[Selects, Package, tuple[str, ...]] | None:
    """The first variable whose library is missing, its package, and the values for which there is one."""
    for row in variables().selects.rows:
        value = on.facts.host.environment.get(row.name, "").strip()
        owner = package(on.python, row.package)
        if value and owner and known(on.framework.variant) == row.build:
            there = _values(row, owner)
            if there and value not in there:
                return row, owner, there
    return None


def _values(row: Selects, owner: Package) -> tuple[str, ...]:
    """The values that name a library of the package; a suffix (_nocublaslt) names a variant of the same one."""
    begin, end = row.library.split("{}")
    middles = (name.removeprefix(begin).removesuffix(end) for name in owner.libraries if name.startswith(begin))
    return tuple(sorted({middle.partition("_")[0] for middle in middles}))


def _default(on: OnFramework, row: Selects) -> str:
    """The value that the package works out where the variable is not set: 12.6 is "126"."""
    number = text_of(on.framework.cuda if row.build == "cuda" else on.framework.hip)
    return "".join(number.split(".")[:2])


def _proof(on: OnFramework, row: Selects) -> Task:
    return verify(on.python, f"import {row.package}")


def _fixes(on: OnFramework) -> tuple[Fix, ...]:
    found = _found(on)
    if found is None:
        return ()
    row, _, there = found
    default = _default(on, row)
    if default in there:
        why = f"{row.package} then loads the library that fits {on.name}, {row.library.format(default)}."
        return (unset(on.facts, row.name, why=why, verify=_proof(on, row)),)
    same = [value for value in there if value[:2] == default[:2] and value.isdigit()]
    if not same or not default.isdigit():
        return (unset(on.facts, row.name, verify=_proof(on, row)),)
    nearest = min(same, key=lambda value: abs(int(value) - int(default)))
    message = f"Select the library that is nearest to the release of {on.name}: {row.library.format(nearest)}."
    return (assign(row.name, nearest, message, _proof(on, row)),)


@check(
    title="A variable selects a library that the package does not contain (BNB_CUDA_VERSION)",
    severity=Severity.ERROR,
    cause="The package contains one library for each release of CUDA or ROCm and chooses by PyTorch's release. The "
    "variable overrides that choice, and the package looks for no other library: a value that was set for another "
    "environment or release leads to a file that is not there.",
    fixes=_fixes,
    references=(
        "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1559",
        "https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1878",
    ),
    targets=torches,
    only_with=(f"host.environment={names(row.name for row in variables().selects.rows)} pythons.packages?",),
    caused_by=("python.*",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def selected_library_missing(on: OnFramework) -> Problem | None:
    """A variable of the table names a library that is not among the package's."""
    found = _found(on)
    if found is None:
        return None
    row, owner, there = found
    value = on.facts.host.environment[row.name]
    name = row.library.format(value.strip())
    message = f"{row.name}={value} makes {owner.name} {owner.version} load {name}, which it does not contain; it has "
    return Problem(f"{message}{', '.join(there)}.", (f"{row.name}={value}",))
