"""A package without its compiled extension needs a variable that turns on its other backend."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import PackageImport
from gpudoctor.fixes.loading import import_proof
from gpudoctor.fixes.variables import assign, places
from gpudoctor.knowledge.variables import BackendSwitch, variables
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import first_line, one_of
from gpudoctor.queries.loading import failures
from gpudoctor.targets import OnPython, pythons


def _found(on: OnPython) -> tuple[BackendSwitch, PackageImport, str] | None:
    """The first package whose import fails over its missing extension while its switch is off."""
    torch = one_of(on.python, "torch")
    for row in variables().switch if torch else ():
        is_on = on.facts.host.environment.get(row.variable) == row.value
        for one, error in failures(on.python):
            missing = f"No module named '{row.extension}'" in error
            if one.package == row.package and missing and not is_on and torch and known(torch.variant) == row.build:
                return row, one, error
    return None


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found = _found(on)
    if found is None:
        return ()
    row, one, _ = found
    message = (
        f"Set {row.variable}={row.value} before Python starts, and add it where variables are set: {places(on.facts)}."
    )
    return (assign(row.variable, row.value, message, import_proof(on, one)),)


@check(
    title="A package was built for a backend that a variable has to turn on (FLASH_ATTENTION_TRITON_AMD_ENABLE)",
    severity=Severity.ERROR,
    cause="The package can be built without its compiled extension, for a backend that compiles its kernels when they "
    "are first used. Which of the two it imports, a variable decides each time, not the build: without the variable it "
    "imports the extension that was never compiled.",
    fixes=_fixes,
    references=(
        "https://github.com/Dao-AILab/flash-attention/issues/1499",
        "https://github.com/Dao-AILab/flash-attention/pull/2343",
    ),
    targets=pythons,
    only_with=("pythons.imports",),
    caused_by=("python.*", "pytorch.*"),
    affects=("wheels", "extensions"),
    validated_on=("simulated 2026-11",),
)
def backend_switch_unset(on: OnPython) -> Problem | None:
    """The import fails over the extension that only the other build has, and the variable has not the one value."""
    known(on.python.imports)
    found = _found(on)
    if found is None:
        return None
    row, one, error = found
    value = on.facts.host.environment.get(row.variable)
    state = "is not set" if value is None else f"is {value!r}, and only {row.value!r} counts"
    message = (
        f"{one.statement} fails: {one.package} {one.version} has no compiled {row.extension}, and {row.variable}, "
        f"which turns on its {row.backend}, {state}."
    )
    return Problem(message, (first_line(error),))
