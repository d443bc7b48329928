"""Packages that belong together, of different releases."""

from gpudoctor.check_engine import Fix, Problem, Severity, check, names
from gpudoctor.facts import Package
from gpudoctor.fixes.frameworks import verify
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.knowledge.release_families import ReleaseFamily, release_families
from gpudoctor.knowledge.torch import cuda_variant
from gpudoctor.maybe import known
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.loading import failures
from gpudoctor.queries.packages import release
from gpudoctor.queries.release_families import MixedReleases, mixed
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks import Command


def _spec(found: MixedReleases, package: Package) -> str:
    """The requirement that brings a package to the family's release."""
    public = release(found.first.version)
    count = found.family.numbers
    return f"{package.name}=={'.'.join(public.split('.')[:count])}.*" if count else f"{package.name}=={public}"


def _variant(on: OnPython) -> str:
    """PyTorch's build, as indexes name it: cu130; empty where it is unknown."""
    torch = one_of(on.python, "torch")
    cuda = torch.cuda if torch and isinstance(torch.cuda, str) else ""
    return cuda_variant(cuda) if cuda else ""


def _command(on: OnPython, found: MixedReleases, package: Package) -> Command | None:
    """The command that installs one of them; None where it is not known from where."""
    family = found.family
    place = family.index.get(family.pattern_of(package.name) or "")
    if place == "" or (place and "{variant}" in place and not family.built_for(_variant(on))):
        return None
    spec, options = _spec(found, package), family.options
    if place and "{variant}" in place:
        return install(on.python, spec, index=place.format(variant=_variant(on)), no_deps=True, options=options)
    if place:  # PyPI has a part of the releases
        options = (*options, "--extra-index-url", place)
    return install(on.python, spec, no_deps=True, options=options)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    found = mixed(on.python)[0]
    specs = " and ".join(_spec(found, p) for p in found.others)
    commands = [_command(on, found, p) for p in found.others]
    known_ones = tuple(c for c in commands if c is not None) if None not in commands else ()
    where = "" if known_ones else ", from the index that they came from"
    message = f"Install {specs}, as {found.first.name} {found.first.version}{where}.{lasting(on.facts)}"
    proof = verify(on.python, _versions(found))
    fixes = [Fix(message, known_ones, "reinstall-package", verify=proof)]
    spare = [p.name for p in found.others if p.name in found.family.optional]
    if spare and len(spare) == len(found.others):
        message = (
            f"Remove {' and '.join(spare)}: {found.first.name} works without, and downloads its kernels, or compiles "
            "them with nvcc, on first use."
        )
        removal = (uninstall(on.python, *spare),)
        removed = Fix(message, removal, "reinstall-package", verify=verify(on.python, "import flashinfer"))
        fixes.insert(len(fixes) if known_ones else 0, removed)  # first where no index has the other
    return tuple(fixes)


def _versions(found: MixedReleases) -> str:
    asked = ", ".join(f'v("{p.name}")' for p in (found.first, *found.others))
    return f"from importlib.metadata import version as v; print({asked})"


def _is_overridden(on: OnPython, family: ReleaseFamily) -> bool:
    return bool(family.override) and on.facts.host.environment.get(family.override, "") not in ("", "0")


@check(
    title="Packages of one family have different releases",
    severity=Severity.WARNING,
    cause="These packages are parts of one program and released together: one calls the other's internal functions or "
    "compiled code. Their metadata does not pin one another, or an upgrade ignored it, so pip changed one part and "
    "left the rest.",
    fixes=_fixes,
    references=(
        "https://github.com/flashinfer-ai/flashinfer/pull/4869",
        "https://github.com/lightseekorg/tokenspeed/pull/284",
        "https://github.com/NVIDIA/TransformerEngine/issues/2410",
        "https://docs.rapids.ai/install/",
    ),
    targets=pythons,
    only_with=(f"pythons.packages.name={names(name for row in release_families().family for name in row.members)}",),
    caused_by=("python.*", "packages.builds-overwrite"),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def mixed_releases(on: OnPython) -> Problem | None:
    """Installed members of a family of the table have several releases; a local part (+cu130) is none."""
    known(on.python.packages)
    found = mixed(on.python)
    if not found:
        return None
    family, first, others = found[0].family, found[0].first, found[0].others
    listed = " and ".join(f"{p.name} {p.version}" for p in others)
    verb = "do not match" if len(others) > 1 else "does not match"
    message = f"{listed} {verb} {first.name} {first.version}: {family.effect}."
    errors = [error for one, error in failures(on.python) if family.pattern_of(one.package)]
    if errors and not _is_overridden(on, family):
        return Problem(message, (errors[0][:1500],), severity=Severity.ERROR)
    if not family.refused:
        return Problem(message)
    if _is_overridden(on, family):
        value = on.facts.host.environment[family.override]
        message = f"{listed} {verb} {first.name} {first.version}; {family.override}={value} only turns off its check."
        return Problem(message)
    return Problem(message, severity=Severity.ERROR)
