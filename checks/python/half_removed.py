"""Leftovers of a package that was only partly removed or installed."""

from collections.abc import Iterator

import msgspec

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Package, Remnant
from gpudoctor.fixes.frameworks import onnxruntime_instead, onnxruntime_runs
from gpudoctor.fixes.python import install
from gpudoctor.fixes.reinstall import remove, same_again
from gpudoctor.fixes.torch_build import reinstall_torch
from gpudoctor.knowledge.wanted import is_framework, module_of, shared_by
from gpudoctor.maybe import phrase
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import packages_of, release
from gpudoctor.targets import NAMES, OnPython, about_modules, pythons
from gpudoctor.tasks import Tasks, query

_PLACEHOLDERS = ("/tensorflow_gpu-", "/tf_nightly_gpu-")
_OTHER = "other release"  # which python.metadata-twice reports


def _all(on: OnPython) -> list[Remnant]:
    found = (r for r in on.python.remnants if r.reason != _OTHER and not any(word in r.path for word in _PLACEHOLDERS))
    return sorted(found, key=lambda r: (_is_left(r), not is_framework(r.module), not r.needed_by))


def _is_left(remnant: Remnant) -> bool:
    """Whether pip renamed it before deleting it."""
    return remnant.reason.startswith("~")


def _is_gone(on: OnPython, module: str) -> bool:
    """Whether no distribution provides the module any more: pip's leftovers are all of its metadata."""
    return not any(module in (module_of(p.name), p.name) for p in packages_of(on.python))


def _unrecorded(on: OnPython, module: str) -> Package | None:
    """The new release whose RECORD is missing: pip writes it last, so it was interrupted before that."""
    found = (p for p in packages_of(on.python) if module in (module_of(p.name), p.name))
    return next((p for p in found if "RECORD" in p.lost), None)


def _is_broken(on: OnPython, module: str) -> bool:
    """Whether pip was interrupted after it had renamed the former release."""
    return module != "nvidia" and (_is_gone(on, module) or _unrecorded(on, module) is not None)


def _broken(on: OnPython) -> list[Remnant]:
    """Those that take the place of a package; not placeholders, nor pip's leftovers of one that is installed."""
    return [r for r in _all(on) if not _is_left(r) or _is_broken(on, r.module)]


def _targets(facts: Facts) -> Iterator[tuple[About, OnPython]]:
    for about, on in pythons(facts):
        yield about_modules(about, (r.module for r in _all(on))), on


def _was(on: OnPython, module: str) -> tuple[str, str | None]:
    """The distribution that was there, and its release: by metadata, else by what others pin.

    Of several with one directory, such as onnxruntime and onnxruntime-gpu, the one that is still installed counts.
    """
    if owner := next((p for p in packages_of(on.python) if module_of(p.name) == module), None):
        return owner.name, owner.version
    mine = [r for r in _all(on) if r.module == module]
    documented = next((r for r in mine if r.package), None)
    name, version = (
        (documented.package, documented.version)
        if documented
        else (next(filter(None, map(_named, mine)), module), None)
    )
    pins = (u.requires.partition("==")[2] for u in on.python.unmet if u.requires.startswith(f"{name}=="))
    return name, version or next((pin for pin in pins if pin.replace(".", "").isdigit()), None)


def _named(remnant: Remnant) -> str:
    """The distribution by the name of its metadata; empty where it has none."""
    name = remnant.path.rpartition("/")[2]
    return name.partition("-")[0].replace("_", "-") if ".dist-info" in name and not _is_left(remnant) else ""


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    broken, everything = _broken(on), _all(on)
    left = remove(r.path for r in everything if _is_left(r))
    if not broken:
        message = "Remove pip's leftovers; they are harmless, but make pip print warnings."
        return (Fix(message, left, impact="irreversible"),)
    module = broken[0].module
    name, version = _was(on, module)
    # A directory without a module may contain the user's own files, so nothing is installed into it.
    first = remove(r.path for r in broken if not _is_left(r) and "dist-info" not in r.path)
    again = _again(on, module, name, version, whole=bool(left) and _unrecorded(on, module) is None)
    what = f"{name} {release(version) if version else ''}".strip()
    if name == "onnxruntime-gpu" and version and not onnxruntime_runs(on.facts, version):
        again, what = onnxruntime_instead(on.facts, on.python, name), f"{name} for the CUDA of this driver"
    message = f"Reinstall {what}, and remove the leftovers." if first or left else f"Reinstall {what}."
    verify = query(on.python.path, "-c", f"import {module}; print({module}.__version__)")
    fix = Fix(message, (*first, *again, *left), "reinstall-package", impact="irreversible", verify=verify)
    return (fix if first or left else msgspec.structs.replace(fix, impact="reversible"),)


def _again(on: OnPython, module: str, name: str, version: str | None, whole: bool) -> Tasks:
    if version:
        return (same_again(on.python, name, version, over=not whole),)
    torch = reinstall_torch(on.facts, on.python) if module == "torch" else ()
    return torch[0].tasks if torch else (install(on.python, name, force=True),)


@check(
    title="A package is only partly installed or removed",
    severity=Severity.ERROR,
    cause="pip was interrupted, files were in use or added by hand, or a package was uninstalled that has the same "
    "directory as another one (onnxruntime beside onnxruntime-gpu), so parts of the package are left: a directory "
    "without __init__.py is imported as an empty namespace package, and metadata without a module cannot be imported "
    "at all. Before removing a package, pip renames it: torch to ~orch.",
    fixes=_fixes,
    references=(
        "https://docs.python.org/3/reference/import.html#namespace-packages",
        "https://github.com/pypa/pip/blob/main/src/pip/_internal/utils/temp_dir.py",
        "https://github.com/vladmandic/sdnext/issues/3797",
        "https://github.com/NVIDIA/flashdreams/issues/363",
    ),
    targets=_targets,
    only_with=("pythons.remnants",),
    affects=("wheels",),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def half_removed(on: OnPython) -> Problem | None:
    """A directory that is no longer a package, metadata without its module, or pip's leftovers."""
    broken, everything = _broken(on), _all(on)
    if not everything:
        return None
    first = (broken or everything)[0]
    seen = tuple(f"{r.path}: {r.reason}" for r in (*broken, *(r for r in everything if r not in broken))[:5])
    if not broken:
        message = f"{first.path} is a leftover from when pip removed {first.module}."
        return Problem(message, seen, severity=Severity.ADVICE)
    # Of a package that was removed on purpose, pip leaves only the directory (files in use).
    interrupted = any(_is_left(r) and r.module == first.module and r.package for r in everything)
    if _is_left(first):
        grave = interrupted and is_framework(first.module)
        return Problem(_gone(on, first.module), seen, severity=None if grave else Severity.WARNING)
    if others := shared_by(first.module):
        return _shared(first, others, seen)
    message = f"{first.path} is an incomplete leftover of {first.module} ({first.reason}) and cannot be used."
    # Without metadata nothing claims to be installed: it was removed, and the user's own files stayed.
    claimed = is_framework(first.module) and ("no metadata" not in first.reason or interrupted)
    return Problem(message, seen, severity=None if claimed else Severity.WARNING)


def _shared(first: Remnant, others: tuple[str, ...], seen: tuple[str, ...]) -> Problem:
    """A module that went with another distribution which writes it too."""
    users = f" {' and '.join(first.needed_by[:3])} {'require' if first.needed_by[1:] else 'requires'} it."
    message = (
        f"{first.package}{phrase(' {}', first.version)} is installed, but its module {first.module} is not: "
        f"{first.module}/__init__.py is missing.{users if first.needed_by else ''}"
    )
    cause = (
        f"{', '.join(others[:-1])} and {others[-1]} write the same directory {first.module}: where two of them are "
        "installed and one is removed, pip takes the files of the other with it."
    )
    grave, breaks = None if first.needed_by else Severity.WARNING, first.needed_by or (first.package,)
    return Problem(message, seen, cause, grave, breaks=breaks, words=(first.module,))


def _gone(on: OnPython, module: str) -> str:
    name, version = _was(on, module)
    whole = f"{NAMES.get(module, name)} {version or ''}".strip()
    paths = ", ".join(r.path.rpartition("/")[2] for r in _all(on) if _is_left(r) and r.module == module)
    if _unrecorded(on, module):
        former = next((r.version for r in _all(on) if _is_left(r) and r.module == module and r.version), None)
        other = f"release {former}" if former else "another release"
        return f"{whole} has no RECORD: pip was interrupted while replacing {other}, and left {paths}."
    if one_of(on.python, module) is None:
        return f"{whole} is gone: pip was interrupted while removing or replacing it, and left {paths}."
    return (
        f"{whole} is only partly installed: pip was interrupted while replacing it, and left {paths}; its metadata is "
        "gone."
    )
