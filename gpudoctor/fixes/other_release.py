"""Fixes for a package whose import fails over another package, of a release that it was not written for."""

import re
from collections.abc import Collection

from msgspec.structs import replace

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Package, PackageImport
from gpudoctor.fixes.bounds import bounded, builds, clash
from gpudoctor.fixes.find_release import lacked_name, release_with
from gpudoctor.fixes.loading import import_proof
from gpudoctor.fixes.python import install, lasting, uninstall
from gpudoctor.knowledge import release_families
from gpudoctor.knowledge.import_errors import distribution_of
from gpudoctor.knowledge.release_dates import first_after, newest_at, released
from gpudoctor.knowledge.release_names import added_in, removed_in
from gpudoctor.knowledge.wanted import wanted
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import text_of
from gpudoctor.parsers.metadata import is_optional, normalise, required_name
from gpudoctor.queries.loading import is_native
from gpudoctor.queries.packages import numbers, package, packages_of, release
from gpudoctor.registry import BY_MODULE
from gpudoctor.targets import OnPython
from gpudoctor.tasks import Tasks

# What CPython and registries say where a name, a parameter or a method is gone, or came: not of a part that is missing.
_OF_INTERFACES = pattern(
    r"has no attribute|cannot import name|No module named|(?:deprecated|removed) in \w+ v?\d"
    r"|unexpected keyword argument|required (?:positional|keyword)|takes \w+ positional"
    r"|already (?:used|registered|defined|exists)"
)


# The package that an error names, where the child did not tell it.
_NAMED = pattern(
    r"No module named '(\w+)\.|cannot import name '\w+' from '(\w+)|\bmodule '(\w+)[\w.]*' has no attribute"
    r"|: (\w+)[\w.]* was (?:deprecated|removed) in"
)
_ASKED = pattern(r"(?i)\binstall ([\w-]+) ?((?:[<>=!~]=? ?[\w.]*\w,? ?)+)")
# Words of transformers/utils/versions.py, whose function other packages call, too.
_REQUIRED = pattern(r"\b([\w.-]+?)((?:[<>=!~]=?[\w.*]+,?)+) is required for a normal functioning of this module")
# "pyarrow requires NumPy 2.0 or newer, found 1.26.4": a package that looks for another one by itself.
_STATED = pattern(
    r"\b([\w.-]+) requires ([\w.-]+) (?:version )?(?:>= ?)?v?(\d[\d.]*\d) or (?:newer|later|higher|above)"
)
# C++ names of TensorFlow, which each of its minor releases changes.
_OF_TENSORFLOW = pattern(r"undefined symbol: _ZN\w*?(?:10tensorflow|3tsl)\d")
# The name that PyTorch lacks: of an attribute, of what is imported from it, or of a module.
_OF_TORCH = pattern(
    r"module 'torch((?:\.\w+)*)' has no attribute '(\w+)'|cannot import name '(\w+)' from 'torch((?:\.\w+)*)'"
    r"|No module named 'torch\.([\w.]+)'"
)
_WHOLE = pattern(r"No module named '\w+'")
_NAME = pattern(r"[\w.-]+")
_UPPER = pattern(r"<|==|~=")
# Words of jax/_src/deprecations.py: "jax.core.pytype was deprecated in JAX v0.5.0 and removed in JAX v0.7.0."
_REMOVED = pattern(r"\b\w+[\w.]*\.(\w+) was (?:deprecated in \w+ v?[\d.]+ and )?removed in \w+ v?(\d[\d.]*\d)")
_PLUGIN = pattern(r"jax-(cuda\d+)-plugin")


def is_of_interface(one: PackageImport) -> bool:
    """Whether an import fails over a name, a parameter or a method of something that it uses."""
    if not isinstance(one.error, str) or is_native(one.error) or _WHOLE.search(one.error):
        return False
    return bool(_OF_INTERFACES.search(one.error))


def blamed(on: OnPython, one: PackageImport) -> Package | None:
    """The installed package, other than its own, that the error of an import is about; None where it is none.

    An error of the loader, or of a module that is not installed at all, is about no release of another package.
    """
    if _OF_TENSORFLOW.search(text_of(one.error)):
        return package(on.python, "tensorflow")
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


def newer(on: OnPython, one: PackageImport, message: str, other: str = "") -> Fix:
    """Upgrade a package, or install what continues it; another one stays within what all the rest requires of it.

    Args:
        on: the environment.
        one: the package, with its import.
        message: what the upgrade is for, as a sentence that starts with a verb.
        other: the package that it fails over; "": that is not known.
    """
    proof = import_proof(on, one)
    if row := release_families.ended(one.package, one.version):
        message = (
            f"Replace {one.package} by {row.instead}, which has its modules with the imports of today: {one.package} "
            f"{row.last} is its last release."
        )
        tasks: Tasks = (uninstall(on.python, one.package), install(on.python, row.instead))
        return Fix(f"{message}{lasting(on.facts)}", tasks, "reinstall-package", verify=proof)
    if one.package in wanted().other_projects:  # what PyPI has under this name is another project
        source = f"{message.rstrip('.')}, from where it was installed: PyPI's {one.package} is another project."
        return Fix(source, (), "reinstall-package", verify=proof)
    if other in BY_MODULE and (found := package(on.python, other)):
        return _with_framework(on, one, found, message)
    owner = package(on.python, one.package)
    required = {normalise(required_name(line)) for line in (owner.requires if owner else ()) if not is_optional(line)}
    pins = {name: spec for name, spec in builds(on.python).items() if name in required}
    kept = bounded(on.python, other, but=(one.package,)) if other and other not in pins else None
    specs = [kept] if kept and kept != other else []
    specs += [spec for spec in held(on, one.package) if spec not in specs and required_name(spec) not in pins]
    if specs:
        message = f"{message.rstrip('.')}, and keep {' and '.join(specs)}, which the other packages require."
    if pins:
        specs += pins.values()
        message = f"{message.rstrip('.')}, and keep the installed {' and '.join(pins)}."
    tasks = (install(on.python, one.package, *specs, upgrade=True),)
    return Fix(f"{message}{lasting(on.facts)}", tasks, "reinstall-package", verify=proof)


def held(on: OnPython, name: str) -> list[str]:
    """What a package requires and others bound from above: pip does not ask them when it upgrades that package."""
    owner, found = package(on.python, name), []
    for line in owner.requires if owner else ():
        other = package(on.python, normalise(required_name(line)))
        if other is None or other.name in BY_MODULE or is_optional(line):
            continue
        spec = bounded(on.python, other.name, but=(name,))
        if spec and _UPPER.search(spec) and spec not in found:
            found.append(spec)
    return found


def _with_framework(on: OnPython, one: PackageImport, framework: Package, message: str) -> Fix:
    """Upgrade a package and leave the framework, whose plugins and companions belong to its release.

    The lowest release is that of the framework's own time: what is older was not written for it either.
    """
    day = released(framework.name, framework.version)
    first = newest_at(one.package, day) if day else ""
    later = first and numbers(first) > numbers(one.version)[: len(numbers(first))]
    spec = f"{one.package}>={first}" if later else f"{one.package}>{release(one.version)}"
    version = framework.version.partition("+")[0]
    message = f"{message.rstrip('.')}, and keep that release.{lasting(on.facts)}"
    task = install(on.python, spec, f"{framework.name}=={version}")
    return Fix(message, (task,), "reinstall-package", verify=import_proof(on, one))


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
    upgraded = newer(on, one, f"Upgrade {one.package} to a release that fits what it imports.")
    listed = ", ".join(f"{p.name} {release(p.version)}" for p in grown[:6])
    message = f"Install an older release of what it requires without an upper bound, one after the other: {listed}."
    proof = import_proof(on, one)
    return (upgraded, Fix(message, (), "reinstall-package", verify=proof)) if grown else (upgraded,)


def other_release(on: OnPython, one: PackageImport, other: Package) -> tuple[Fix, ...]:
    """Bring two packages to releases that fit: an older one of the other, where that is newer than it has to be."""
    if needed := newer_torch_needed(one, other):
        return _newer_torch(on, one, *needed)
    if of_name := _by_name(on, one, other):
        return of_name
    if of_age := _upgrade_older(on, one, other):
        return of_age
    proof, series = import_proof(on, one), ".".join(map(str, numbers(other.version)[:2]))
    message = f"Upgrade {one.package} to a release that works with {other.name} {release(other.version)}."
    upgraded = newer(on, one, message, other.name)
    if f"'{one.package.replace('-', '.')}." in text_of(one.error):  # numba.cuda.types is numba-cuda's, not numba's
        return (upgraded,)
    if having := release_with(on.python, lacked_name(text_of(one.error)), other.name, but=(one.package,)):
        return replace(having, verify=proof), upgraded
    lowest = _lowest(on, one.package, other.name)
    outgrown = bool(lowest) and numbers(lowest)[:2] < numbers(series)
    mine, held = released(one.package, one.version), clash(on.python, f"{one.package}>{release(one.version)}")
    before = series if outgrown else first_after(other.name, mine) if mine and held else ""
    older = f"{other.name}{f'>={lowest},' if outgrown else ''}<{before}"
    if not before or other.name in BY_MODULE or clash(on.python, older, but=(one.package,)):
        return (upgraded,)
    why = f"requires {lowest} or newer, and was written for that. If the error stays, take a still older one"
    if not outgrown:
        why = f"is older than that, and {' and '.join(held)} requires no newer one"
    message = f"Install {other.name} from before {before}: {one.package} {one.version} {why}."
    task = install(on.python, older)
    return Fix(f"{message}{lasting(on.facts)}", (task,), "reinstall-package", verify=proof), upgraded


def release_asked(text: str, installed: Collection[str]) -> str:
    """The release of a package that an error asks for, "mmcv<2.2.0,>=2.0.0rc4"; "" where it asks for none.

    Args:
        text: the error: "MMCV==2.2.0 is used but incompatible. Please install mmcv>=2.0.0rc4, <2.2.0."
        installed: the distributions that are there: mmcv-lite is mmcv, too.
    """
    if found := _REQUIRED.search(text):
        return f"{found[1]}{found[2].rstrip(',')}"
    found = _ASKED.search(text)
    if found is None:
        return ""
    name = found[1] if found[1] in installed or f"{found[1]}-lite" not in installed else f"{found[1]}-lite"
    return f"{name}{''.join(found[2].split()).rstrip(',')}"


def stated(on: OnPython, one: PackageImport) -> tuple[Package, Package, str] | None:
    """The package that an error says to need a newer release of another one, that one, and the release."""
    found = _STATED.search(text_of(one.error))
    user, other = (package(on.python, distribution_of(found[at].lower())) for at in (1, 2)) if found else (None, None)
    if found is None or user is None or other is None or other.name in BY_MODULE:
        return None
    return (user, other, found[3]) if numbers(other.version) < numbers(found[3]) else None


def as_stated(on: OnPython, one: PackageImport, user: Package, other: Package, wanted: str) -> tuple[Fix, ...]:
    """Upgrade what a package says to need, unless the others require an older one: then that package is older, too."""
    proof, spec = import_proof(on, one), f"{other.name}>={wanted}"
    holders = clash(on.python, spec, but=(user.name,))
    older = f"{user.name}<{'.'.join(map(str, numbers(user.version)[:2]))}"
    why = f"{' and '.join(holders)} requires an older {other.name}" if holders else f"to keep {other.name}"
    message = f"Install an older {user.name}, {why}; if the error stays, take a still older one.{lasting(on.facts)}"
    back = Fix(message, (install(on.python, older),), "reinstall-package", verify=proof)
    message = f"Upgrade {other.name}, as {user.name} {release(user.version)} needs.{lasting(on.facts)}"
    return (back,) if holders else (Fix(message, (install(on.python, spec),), "reinstall-package", verify=proof), back)


def lacked_in(text: str, other: Package) -> tuple[str, str, str]:
    """What an error says that a package lacks, and the releases in which it came and went, where that is the reason.

    Args:
        text: the error.
        other: the package; "" stands for what is not known, or is no reason in its release.
    """
    if gone := _REMOVED.search(text):
        return gone[1], "", gone[2]
    path = lacked_name(text)
    name = path if "No module named" in text else path.rpartition(".")[2]
    if not name or other.name in BY_MODULE:
        return name, "", ""
    here, came, went = numbers(other.version)[:2], added_in(other.name, name), removed_in(other.name, name)
    return name, came if came and here < numbers(came) else "", went if went and here >= numbers(went) else ""


def with_plugin(on: OnPython, name: str) -> str:
    """A package as a command names it: JAX with the extra of its installed plugin, which is of the same release."""
    found = (_PLUGIN.fullmatch(one.name) for one in packages_of(on.python)) if name == "jax" else ()
    return next((f"{name}[{match[1]}]" for match in found if match), name)


def _by_name(on: OnPython, one: PackageImport, other: Package) -> tuple[Fix, ...]:
    """Install a release of a package that has the name which another one uses; empty where no table knows it."""
    name, came, went = lacked_in(text_of(one.error), other)
    proof, version = import_proof(on, one), release(other.version)
    if came:
        end = f",<{numbers(came)[0] + 1}" if numbers(came)[0] else ""
        spec = f"{other.name}>={came}{end}"
        message = f"Upgrade {other.name} to {came} or newer, which has {name}; {version} is older.{lasting(on.facts)}"
        newer_one = Fix(message, (install(on.python, spec),), "reinstall-package", verify=proof)
        return () if clash(on.python, spec, but=(one.package,)) else (newer_one,)
    if not went:
        return ()
    message = f"Upgrade {one.package} to a release that works without {name}, which {other.name} {went} removed."
    upgraded, older = newer(on, one, message, other.name), f"{other.name}<{went}"
    if clash(on.python, older, but=(one.package,)):
        return (upgraded,)
    message = f"Install {other.name} from before {went}, which still has {name}.{lasting(on.facts)}"
    task = install(on.python, f"{with_plugin(on, other.name)}<{went}")
    return Fix(message, (task,), "reinstall-package", verify=proof), upgraded


def _upgrade_older(on: OnPython, one: PackageImport, other: Package) -> tuple[Fix, ...]:
    """Upgrade the package that lacks a name, where it is older than the one that uses it; empty where it is not."""
    mine, theirs = released(one.package, one.version), released(other.name, other.version)
    if not theirs or not mine or theirs >= mine or other.name in BY_MODULE:
        return ()
    proof, first = import_proof(on, one), newest_at(other.name, mine)
    if numbers(first) <= numbers(other.version)[:2]:
        return ()
    end = f",<{numbers(first)[0] + 1}" if numbers(first)[0] else ""  # a new major removes what other packages use
    fixes, spec = [], f"{other.name}>={first}{end}"
    if not clash(on.python, spec, but=(one.package,)):
        message = (
            f"Upgrade {other.name} to {first} or newer: {release(other.version)} is of {theirs[:7]}, and {one.package} "
            f"{release(one.version)} of {mine[:7]} uses what came between.{lasting(on.facts)}"
        )
        fixes.append(Fix(message, (install(on.python, spec),), "reinstall-package", verify=proof))
    if after := first_after(one.package, theirs):
        message = f"Install a {one.package} from before {after}, which is as old as {other.name}.{lasting(on.facts)}"
        task = install(on.python, f"{one.package}<{after}")
        fixes.append(Fix(message, (task,), "reinstall-package", verify=proof))
    return tuple(fixes)


def _lowest(on: OnPython, user: str, name: str) -> str:
    """The lowest release of a package that another one requires; "" where it names none."""
    owner = package(on.python, user)
    found = (_bound(line, name) for line in (owner.requires if owner else ()) if "extra ==" not in line)
    return next(filter(None, found), "")


def _bound(line: str, name: str) -> str:
    """The lowest release in a requirement of a package: "4.51.1" of "transformers<5,>=4.51.1"; "" in another's."""
    text = line.partition(";")[0].replace(" ", "").replace("_", "-").lower()
    found = re.match(rf"{re.escape(name)}(?:\[[^\]]*\])?\(?[^a-z]*?(?:>=|==|~=)([\d.]*\d)", text)
    return found[1] if found else ""
