"""Fixes for a package whose import fails over another package, of a release that it was not written for."""

import re

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Package, PackageImport
from gpudoctor.fixes.loading import import_proof
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge.import_errors import distribution_of
from gpudoctor.lazy_regex import pattern
from gpudoctor.queries.loading import is_native
from gpudoctor.queries.packages import numbers, package, packages_of, release
from gpudoctor.registry import BY_MODULE
from gpudoctor.targets import OnPython

# What CPython and registries say where a name, a parameter or a method is gone, or came: not of a part that is missing.
_OF_INTERFACES = pattern(
    r"has no attribute|cannot import name|No module named|unexpected keyword argument|required (?:positional|keyword)"
    r"|takes \w+ positional|already (?:used|registered|defined|exists)"
)


def blamed(on: OnPython, one: PackageImport) -> Package | None:
    """The installed package, other than its own, that the error of an import is about; None where it is none.

    An error of the loader, or of a module that is not installed at all, is about no release of another package.
    """
    if one.blamed is None or not isinstance(one.error, str) or is_native(one.error):
        return None
    if not _OF_INTERFACES.search(one.error):
        return None
    found = package(on.python, distribution_of(one.blamed))
    return found if found and found.name != one.package and numbers(found.version) else None


def other_release(on: OnPython, one: PackageImport, other: Package) -> tuple[Fix, ...]:
    """Bring two packages to releases that fit: an older one of the other, where that is newer than it has to be."""
    proof, series = import_proof(on, one), ".".join(map(str, numbers(other.version)[:2]))
    message = f"Upgrade {one.package} to a release that works with {other.name} {release(other.version)}."
    newer = Fix(
        f"{message}{lasting(on.facts)}",
        (install(on.python, one.package, upgrade=True),),
        "reinstall-package",
        verify=proof,
    )
    lowest = _lowest(on, one.package, other.name)
    outgrown = bool(lowest) and numbers(lowest)[:2] < numbers(series)
    if not outgrown or other.name in BY_MODULE or _is_wanted(on, one.package, other.name, series):
        return (newer,)
    message = (
        f"Install {other.name} from before {series}: {one.package} {one.version} requires {lowest} or newer, and was "
        f"written for that. If the error stays, take a still older one."
    )
    older = install(on.python, f"{other.name}>={lowest},<{series}")
    return Fix(f"{message}{lasting(on.facts)}", (older,), "reinstall-package", verify=proof), newer


def _lowest(on: OnPython, user: str, name: str) -> str:
    """The lowest release of a package that another one requires; "" where it names none."""
    owner = package(on.python, user)
    found = (_bound(line, name) for line in (owner.requires if owner else ()) if "extra ==" not in line)
    return next(filter(None, found), "")


def _is_wanted(on: OnPython, user: str, name: str, series: str) -> bool:
    """Whether a third package requires this minor release, or a newer one."""
    lines = (line for p in packages_of(on.python) if p.name != user for line in p.requires if "extra ==" not in line)
    return any(numbers(bound)[:2] >= numbers(series) for line in lines if (bound := _bound(line, name)))


def _bound(line: str, name: str) -> str:
    """The lowest release in a requirement of a package: "4.51.1" of "transformers<5,>=4.51.1"; "" in another's."""
    text = line.partition(";")[0].replace(" ", "").replace("_", "-").lower()
    found = re.match(rf"{re.escape(name)}(?:\[[^\]]*\])?\(?[^a-z]*?(?:>=|==|~=)([\d.]*\d)", text)
    return found[1] if found else ""
