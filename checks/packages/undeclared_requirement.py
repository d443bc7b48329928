"""A package that needs another release of one next to it, which its metadata does not say."""

from gpudoctor.check_engine import Fix, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge.release_families import Undeclared, release_families
from gpudoctor.maybe import known
from gpudoctor.queries.packages import numbers, package
from gpudoctor.targets import OnPython, pythons


def _broken(on: OnPython) -> tuple[Undeclared, Package, Package] | None:
    """The first row that does not hold, with the two packages."""
    for row in release_families().undeclared:
        owner, other = package(on.python, row.package), package(on.python, row.other)
        if owner and other and numbers(row.since) <= numbers(owner.version) < numbers(row.before):
            first = numbers(row.wanted.lstrip("<>="))
            if (numbers(other.version) < first) != row.wanted.startswith("<"):
                return row, owner, other
    return None


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found = _broken(on)
    if found is None:
        return ()
    row, owner, _ = found
    message = f"Install {row.other}{row.wanted}, or {owner.name} {row.before} or newer."
    command = install(on.python, f"{row.other}{row.wanted}")
    return (Fix(f"{message}{lasting(on.facts)}", (command,), "reinstall-package"),)


@check(
    title="A package needs another release of one that its metadata does not name",
    severity=Severity.WARNING,
    cause="The package uses an interface that only some releases of the other one have, but does not require them in "
    "its metadata: pip installs or keeps any release, and `pip check` reports nothing.",
    fixes=_fixes,
    references=(
        "https://github.com/flashinfer-ai/flashinfer/pull/1455",
        "https://github.com/vllm-project/vllm/issues/12847",
        "https://github.com/vllm-project/vllm/issues/12386",
    ),
    targets=pythons,
    caused_by=("python.*", "libraries.pin-broken"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def undeclared_requirement(on: OnPython) -> str | None:
    """A row of the table of requirements that no metadata names does not hold."""
    known(on.python.packages)
    found = _broken(on)
    if found is None:
        return None
    row, owner, other = found
    return f"{owner.name} {owner.version} needs {row.other}{row.wanted}; {other.version} is installed: {row.effect}."
