"""Fixes for a package whose import fails over another package, of a release that it was not written for."""

import re

from msgspec.structs import replace

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Package, PackageImport
from gpudoctor.fixes.loading import import_proof
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge import release_families
from gpudoctor.knowledge.import_errors import distribution_of
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import text_of
from gpudoctor.queries.loading import is_native
from gpudoctor.queries.packages import numbers, package, packages_of, release
from gpudoctor.registry import BY_MODULE
from gpudoctor.targets import OnPython

# What CPython and registries say where a name, a parameter or a method is gone, or came: not of a part that is missing.
_OF_INTERFACES = pattern(
    r"has no attribute|cannot import name|No module named|unexpected keyword argument|required (?:positional|keyword)"
    r"|takes \w+ positional|already (?:used|registered|defined|exists)"
)


# The package that an error names, where the child did not tell it.
_NAMED = pattern(
    r"No module named '(\w+)\.|cannot import name '\w+' from '(\w+)|\bmodule '(\w+)[\w.]*' has no attribute"
)
# The name that PyTorch lacks: of an attribute, of what is imported from it, or of a module.
_OF_TORCH = pattern(
    r"module 'torch((?:\.\w+)*)' has no attribute '(\w+)'|cannot import name '(\w+)' from 'torch((?:\.\w+)*)'"
    r"|No module named 'torch\.([\w.]+)'"
)
_WHOLE = pattern(r"No module named '\w+'")
_NAME = pattern(r"[\w.-]+")


def is_of_interface(one: PackageImport) -> bool:
    """Whether an import fails over a name, a parameter or a method of something that it uses."""
    if not isinstance(one.error, str) or is_native(one.error) or _WHOLE.search(one.error):
        return False
    return bool(_OF_INTERFACES.search(one.error))


def blamed(on: OnPython, one: PackageImport) -> Package | None:
    """The installed package, other than its own, that the error of an import is about; None where it is none.

    An error of the loader, or of a module that is not installed at all, is about no release of another package.
    """
    if not is_of_interface(one):
        return None
    named = _NAMED.search(text_of(one.error))
    top = one.blamed or next((name for name in (named.groups() if named else ()) if name), "")
    found = package(on.python, distribution_of(top)) if top != one.module else None
    return found if found and found.name != one.package and numbers(found.version) else None


def newer_torch_needed(one: PackageImport, other: Package) -> tuple[str, str] | None:
    """The name that an import does not find in PyTorch, and the release which brought it, where that is newer."""
    found = _OF_TORCH.search(text_of(one.error)) if other.name == "torch" else None
    if found is None:
        return None
    inside, attribute, imported, place, module = found.groups()
    name = module or ".".join(part for part in ((inside or place or "").strip("."), attribute or imported) if part)
    first = release_families.first_with("torch", name)
    return (name, first) if first and numbers(other.version)[:2] < numbers(first) else None


def _newer_torch(on: OnPython, one: PackageImport, name: str, first: str) -> tuple[Fix, ...]:
    """Install a PyTorch that has a name, where one with it supports the GPU, or an older release of the package."""
    from gpudoctor.fixes.torch_build import torch_since  # for few of the imports that fail

    proof = import_proof(on, one)
    newer = (replace(fix, verify=proof) for fix in torch_since(on.facts, on.python, first))
    message = (
        f"Install an older release of {one.package}, from before it used torch.{name}; "
        f"if the error stays, take a still older one.{lasting(on.facts)}"
    )
    task = install(on.python, f"{one.package}<{release(one.version)}")
    return (*newer, Fix(message, (task,), "reinstall-package", verify=proof))


def any_release(on: OnPython, one: PackageImport) -> tuple[Fix, ...]:
    """The same where nobody knows which package it is: what it requires without an upper bound may have outgrown it."""
    owner, grown = package(on.python, one.package), []
    for line in owner.requires if owner else ():
        name = _NAME.match(line)
        found = package(on.python, name[0].lower().replace("_", "-")) if name else None
        if found is None or found.name in BY_MODULE or re.search(r"<|==|~=|extra", line):
            continue
        lowest = _bound(line, found.name)
        if lowest and numbers(lowest)[:2] < numbers(found.version)[:2]:
            grown.append(found)
    if len(grown) == 1:
        return other_release(on, one, grown[0])
    message = f"Upgrade {one.package} to a release that fits what it imports.{lasting(on.facts)}"
    task, proof = install(on.python, one.package, upgrade=True), import_proof(on, one)
    newer = Fix(message, (task,), "reinstall-package", verify=proof)
    listed = ", ".join(f"{p.name} {release(p.version)}" for p in grown[:6])
    message = f"Install an older release of what it requires without an upper bound, one after the other: {listed}."
    return (newer, Fix(message, (), "reinstall-package", verify=proof)) if grown else (newer,)


def other_release(on: OnPython, one: PackageImport, other: Package) -> tuple[Fix, ...]:
    """Bring two packages to releases that fit: an older one of the other, where that is newer than it has to be."""
    if needed := newer_torch_needed(one, other):
        return _newer_torch(on, one, *needed)
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
