"""Two records of one package: the metadata of a release that is not installed is next to the right one."""

from collections import Counter

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Remnant
from gpudoctor.knowledge.wanted import matters
from gpudoctor.maybe import known, phrase
from gpudoctor.queries.packages import package
from gpudoctor.targets import OnPython, pythons


def _stale(on: OnPython) -> list[Remnant]:
    return [r for r in on.python.remnants if r.reason == "other release" and matters(r.package)]


def _open(on: OnPython) -> list[str]:
    """The packages with several records where the files do not show which is right."""
    count = Counter((p.name, p.directory) for p in known(on.python.packages))
    return [name for (name, _), number in count.items() if number > 1 and matters(name)]


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    # Every machine with a Python reads this check, and few need a fix: they are imported for those alone.
    from gpudoctor.fixes.reinstall import remove, same_again
    from gpudoctor.fixes.verify_commands import framework_proof

    stale, verify = _stale(on), framework_proof(on.python)
    if stale:
        message = "Remove the stale metadata; the package itself stays as it is."
        return (Fix(message, remove(r.path for r in stale), "reinstall-package", impact="irreversible", verify=verify),)
    commands = []
    for name in _open(on):
        version = next(p.version for p in known(on.python.packages) if p.name == name)
        commands.append(same_again(on.python, name, version, over=True))
    message = "Install the release that you want over both, then remove the other's metadata."
    return (Fix(message, tuple(commands), "reinstall-package", verify=verify),)


@check(
    title="A package has metadata of two releases",
    severity=Severity.WARNING,
    cause="An upgrade was interrupted, or an image was built from layers: the .dist-info directory of the old release "
    "stayed. pip and importlib.metadata may use either, so programs read a version that is not installed, and pip "
    "checks the wrong requirements.",
    fixes=_fixes,
    references=("https://packaging.python.org/en/latest/specifications/recording-installed-packages/",),
    targets=pythons,
    caused_by=("python.half-removed",),
    affects=("tools",),
    validated_on=("environment 2026-11",),
)
def metadata_twice(on: OnPython) -> Problem | None:
    """Several .dist-info directories of one package in one place; the files show which is right."""
    stale = _stale(on)
    if not stale:
        several = _open(on)
        return (
            Problem(f"{several[0]} has metadata of several releases, and its files do not show which is right.")
            if several
            else None
        )
    first = stale[0]
    right = package(on.python, first.package)
    there = right.version if right else "another release"
    whose = f"{first.package}{phrase(' {}', first.version)}"
    message = f"{first.path} is metadata of {whose}, but the installed files are from {there}."
    return Problem(message, tuple(r.path for r in stale[1:5]))
