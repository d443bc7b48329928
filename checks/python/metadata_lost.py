"""METADATA or RECORD of an installed package is missing."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.reinstall import same_again
from gpudoctor.knowledge.wanted import is_framework, module_of
from gpudoctor.maybe import known
from gpudoctor.queries.packages import and_more
from gpudoctor.targets import OnPython, pythons

_EFFECTS = {
    "METADATA": "importlib.metadata finds no version; packages that need it (transformers, accelerate) fail",
    "RECORD": "pip can neither remove nor upgrade it",
}


def _lost(on: OnPython) -> list[Package]:
    """Those that lack a file; where no package has a RECORD, the image was built without them."""
    packages = known(on.python.packages)
    without = not any(p.files is not None for p in packages)
    found = (p for p in packages if p.lost and not (without and p.lost == ("RECORD",)))
    return sorted(found, key=lambda p: not is_framework(module_of(p.name) or ""))


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    commands = tuple(same_again(on.python, p.name, p.version, over=True) for p in _lost(on) if p.version)
    names = " and ".join(f"{p.name} {p.version}" for p in _lost(on))
    message = f"Reinstall {names} over the existing files, without dependencies."
    first = _lost(on)[0].name
    proof = verify(on.python, f'import importlib.metadata as m; print(m.version("{first}"))')
    return (Fix(message, commands, "reinstall-package", verify=proof),)


@check(
    title="Metadata of an installed package is missing",
    severity=Severity.WARNING,
    cause="The disk was full, or an installation, copy or cleanup was interrupted: the package's files are there, but "
    "its .dist-info directory is incomplete.",
    fixes=_fixes,
    references=("https://packaging.python.org/en/latest/specifications/recording-installed-packages/",),
    targets=pythons,
    only_with=("pythons.packages.lost",),
    caused_by=("python.half-removed",),
    affects=("tools",),
    validated_on=("environment 2026-11",),
)
def metadata_lost(on: OnPython) -> Problem | None:
    """A .dist-info directory without METADATA, or without the RECORD that its installer writes."""
    lost = _lost(on)
    if not lost:
        return None
    first = lost[0]
    effects = "; ".join(_EFFECTS[name] for name in first.lost)
    return Problem(f"{first.name} {first.version} has no {' or '.join(first.lost)}{and_more(lost)}: {effects}.")
