"""What the installed packages require of one of them: a fix that installs it must leave the others working."""

from collections.abc import Collection, Iterable

from gpudoctor.facts import Package, Python
from gpudoctor.maybe import text_of
from gpudoctor.parsers.metadata import normalise, required_name
from gpudoctor.queries.extensions import COMPANIONS
from gpudoctor.queries.packages import packages_of, release
from gpudoctor.registry import BY_MODULE


def clash(python: Python, spec: str, but: Collection[str] = ()) -> tuple[str, ...]:
    """The installed packages whose requirement leaves no release that a specifier takes.

    Args:
        python: the environment.
        spec: what a command would install, "huggingface-hub<0.26".
        but: the packages whose requirements do not count: a fix changes them, too.
    """
    name = required_name(spec)
    own = spec[len(name) :]
    return tuple(user.name for user, theirs in _required(python, name, but) if not _meet((own, theirs)))


def bounded(python: Python, name: str, but: Collection[str] = (), own: str = "") -> str | None:
    """A package within what all that is installed requires of it, "huggingface-hub<1.0,>=0.34"; None: nothing fits.

    Args:
        python: the environment.
        name: the package.
        but: as of `clash`.
        own: a specifier that has to hold as well.
    """
    every = (own, *(theirs for _, theirs in _required(python, name, but)))
    return f"{name}{_tightest(','.join(filter(None, every)))}" if _meet(every) else None


def builds(python: Python) -> dict[str, str]:
    """The installed frameworks and what belongs to PyTorch, by name, as requirements of just these releases.

    A newer one may need a newer driver, and takes the place of the build for this GPU.
    """
    there = (one for one in packages_of(python) if one.name in BY_MODULE or one.name in COMPANIONS)
    return {one.name: f"{one.name}=={release(one.version)}" for one in there}


def _tightest(text: str) -> str:
    """Specifiers without those that others contain: of the lower bounds the highest, of the upper ones the lowest."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

    kept = {str(one): one for one in SpecifierSet(text)}
    for operators, choose in ((">", max), ("<", min)):
        bounds = [one for one in kept.values() if one.operator.startswith(operators)]
        if bounds:
            best = choose(bounds, key=lambda one: Version(one.version))
            kept = {text: one for text, one in kept.items() if one not in bounds or one is best}
    return str(SpecifierSet(",".join(kept)))


def is_required(python: Python, name: str) -> bool:
    """Whether an installed package needs another one."""
    return bool(_required(python, name))


def _required(python: Python, name: str, but: Collection[str] = ()) -> list[tuple[Package, str]]:
    """The packages that require another one here, and the specifier; what an extra asks for is left out."""
    from packaging.requirements import InvalidRequirement, Requirement  # 45 ms, for a broken environment alone

    found, here = [], _markers(python)
    for user in packages_of(python):
        lines = user.requires if user.name not in (name, *but) else ()
        for line in (line for line in lines if normalise(required_name(line)) == name):
            try:
                wanted = Requirement(line)
            except InvalidRequirement:
                continue
            if wanted.url is None and (wanted.marker is None or wanted.marker.evaluate(here)):
                found.append((user, str(wanted.specifier)))
    return found


def _markers(python: Python) -> dict[str, str]:
    version = text_of(python.version)
    of_python = {"python_version": ".".join(version.split(".")[:2]), "python_full_version": version} if version else {}
    return {"extra": "", "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix", **of_python}


def _meet(specifiers: Iterable[str]) -> bool:
    """Whether one release could satisfy all of these: one that a clause names, or one next to it."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        every = SpecifierSet(",".join(filter(None, specifiers)))
    except InvalidSpecifier:
        return True
    named = [clause.version.removesuffix(".*").partition("+")[0] for clause in every]
    return not named or any(every.contains(v, prereleases=True) for one in named for v in _around(one))


def _around(version: str) -> tuple[str, ...]:
    """A release, one just above it, and one just below: 0.26, 0.26.0.0.1 and 0.25.9999."""
    from packaging.version import InvalidVersion, Version

    try:
        parts = list(Version(version).release)
    except InvalidVersion:
        return ()
    above = ".".join(map(str, [*parts, *[0] * (3 - len(parts)), 1]))
    while parts and parts[-1] == 0:
        parts.pop()
    below = ".".join(map(str, [*parts[:-1], parts[-1] - 1, 9999])) if parts else version
    return version, above, below
