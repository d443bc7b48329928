"""METADATA or RECORD of an installed package is gone."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Package
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.reinstall import same_again
from gpudoctor.knowledge.wanted import is_framework, module_of
from gpudoctor.maybe import known
from gpudoctor.targets import OnPython, pythons

_EFFECTS = {
    "METADATA": "importlib.metadata knows no version of it, so that packages that ask for one (transformers, "
    "accelerate) fail or take it for missing",
    "RECORD": "pip can neither remove nor upgrade it",
}


def _lost(on: OnPython) -> list[Package]:
    """Those that lack something; where no package has a RECORD, the image was made without them."""
    packages = known(on.python.packages)
    without = not any(p.files is not None for p in packages)
    found = (p for p in packages if p.lost and not (without and p.lost == ("RECORD",)))
    return sorted(found, key=lambda p: not is_framework(module_of(p.name) or ""))


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    commands = tuple(same_again(on.python, p.name, p.version, over=True) for p in _lost(on) if p.version)
    names = " and ".join(f"{p.name} {p.version}" for p in _lost(on))
    message = f"Install {names} once more over what is there, without its dependencies."
    first = _lost(on)[0].name
    proof = verify(on.python, f'import importlib.metadata as m; print(m.version("{first}"))')
    return (Fix(message, commands, "reinstall-package", verify=proof),)


@check(
    title="Metadata of an installed package is gone",
    severity=Severity.WARNING,
    cause="The disk was full, or an installation, a copy or a clean-up was interrupted: the package's files are there, "
    "and the directory .dist-info lacks what says which release they are.",
    fixes=_fixes,
    references=("https://packaging.python.org/en/latest/specifications/recording-installed-packages/",),
    targets=pythons,
    caused_by=("python.half-removed",),
    affects=("tools",),
    validated_on=("table 2026-11",),
)
def metadata_lost(on: OnPython) -> Problem | None:
    """A directory .dist-info without METADATA, or without the RECORD that its installer writes."""
    lost = _lost(on)
    if not lost:
        return None
    first = lost[0]
    effects = "; ".join(_EFFECTS[name] for name in first.lost)
    more = f" ({len(lost) - 1} more packages)" if len(lost) > 1 else ""
    return Problem(f"{first.name} {first.version} lacks its {' and '.join(first.lost)}{more}: {effects}.")
