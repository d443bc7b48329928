"""The remains of a package that was half removed or half installed."""

from collections.abc import Iterator

from gpudoctor.check_engine import About, Fix, Problem, Severity, check
from gpudoctor.facts import Facts, Remnant
from gpudoctor.fixes.python import install, reinstall_torch
from gpudoctor.fixes.reinstall import remove, same_again
from gpudoctor.knowledge.wanted import is_framework, module_of
from gpudoctor.queries.frameworks import one_of
from gpudoctor.queries.packages import packages_of, release
from gpudoctor.targets import NAMES, OnPython, about_modules, pythons
from gpudoctor.tasks import Tasks, query

_PLACEHOLDERS = ("/tensorflow_gpu-", "/tf_nightly_gpu-")
_OTHER = "other release"  # of which python.metadata-twice tells


def _all(on: OnPython) -> list[Remnant]:
    found = (r for r in on.python.remnants if r.reason != _OTHER and not any(word in r.path for word in _PLACEHOLDERS))
    return sorted(found, key=lambda r: (_is_left(r), not is_framework(r.module)))


def _is_left(remnant: Remnant) -> bool:
    """Whether pip renamed it, in order to delete it."""
    return remnant.reason.startswith("~")


def _is_gone(on: OnPython, module: str) -> bool:
    """Whether no distribution brings the module any more: what pip left is all that there is of its metadata."""
    return not any(module in (module_of(p.name), p.name) for p in packages_of(on.python))


def _broken(on: OnPython) -> list[Remnant]:
    """Those that stand in the place of a package; placeholders, and what pip left of one that is there, do not."""
    return [r for r in _all(on) if not _is_left(r) or (r.module != "nvidia" and _is_gone(on, r.module))]


def _subjects(facts: Facts) -> Iterator[tuple[About, OnPython]]:
    for about, on in pythons(facts):
        yield about_modules(about, (r.module for r in _all(on))), on


def _was(on: OnPython, module: str) -> tuple[str, str | None]:
    """The distribution that was there, and its release: by its metadata, else by what others pin."""
    mine = [r for r in _all(on) if r.module == module]
    told = next((r for r in mine if r.package), None)
    name, version = (told.package, told.version) if told else (next(filter(None, map(_named, mine)), module), None)
    pins = (u.requires.partition("==")[2] for u in on.python.unmet if u.requires.startswith(f"{name}=="))
    return name, version or next((pin for pin in pins if pin.replace(".", "").isdigit()), None)


def _named(remnant: Remnant) -> str:
    """The distribution by the name of its metadata; empty where this is none."""
    name = remnant.path.rpartition("/")[2]
    return name.partition("-")[0].replace("_", "-") if ".dist-info" in name and not _is_left(remnant) else ""


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    broken, everything = _broken(on), _all(on)
    left = remove(r.path for r in everything if _is_left(r))
    if not broken:
        message = "Remove what pip left behind; it does nothing but make pip warn."
        return (Fix(message, left, impact="irreversible"),)
    module = broken[0].module
    name, version = _was(on, module)
    # A folder without a module may hold files of somebody's own, so what is installed does not go into it.
    first = remove(r.path for r in broken if not _is_left(r) and "dist-info" not in r.path)
    again = _again(on, module, name, version, whole=bool(left))
    message = f"Install {name} {release(version) if version else ''}".strip() + " again, and remove the remains."
    verify = query(on.python.path, "-c", f"import {module}; print({module}.__version__)")
    return (Fix(message, (*first, *again, *left), "reinstall-package", impact="irreversible", verify=verify),)


def _again(on: OnPython, module: str, name: str, version: str | None, whole: bool) -> Tasks:
    if version:
        return (same_again(on.python, name, version, over=not whole),)
    torch = reinstall_torch(on.facts, on.python) if module == "torch" else ()
    return torch[0].tasks if torch else (install(on.python, name, force=True),)


@check(
    title="A package was half removed or half installed",
    severity=Severity.ERROR,
    cause="pip was interrupted, or files were in use or added by hand, so that parts of the package remain: a folder "
    "without __init__.py is imported as an empty namespace package, and metadata without a module is nothing at all. "
    "What pip is about to remove it first renames: torch to ~orch.",
    fixes=_fixes,
    references=(
        "https://docs.python.org/3/reference/import.html#namespace-packages",
        "https://github.com/pypa/pip/blob/main/src/pip/_internal/utils/temp_dir.py",
        "https://github.com/vladmandic/sdnext/issues/3797",
    ),
    targets=_subjects,
    caused_by=("python.interpreter-broken",),
    affects=("wheels",),
    validated_on=("simulated 2026-11",),
)
def half_removed(on: OnPython) -> Problem | None:
    """A folder that is no package any more, metadata without its module, or what pip left."""
    broken, everything = _broken(on), _all(on)
    if not everything:
        return None
    first = (broken or everything)[0]
    seen = tuple(f"{r.path}: {r.reason}" for r in (*broken, *(r for r in everything if r not in broken))[:5])
    if not broken:
        message = f"{first.path} is what pip left of {first.module} when it removed it."
        return Problem(message, seen, severity=Severity.ADVICE)
    # What pip could not delete of a package that somebody removed for good (files in use) is its folder alone.
    interrupted = any(_is_left(r) and r.module == first.module and r.package for r in everything)
    if _is_left(first):
        grave = interrupted and is_framework(first.module)
        return Problem(_gone(on, first.module), seen, severity=None if grave else Severity.WARNING)
    message = (
        f"{first.path} is only the remains of {first.module} ({first.reason}): it is incomplete and cannot be used."
    )
    # Where no metadata is left, nothing claims to be installed: somebody removed it, and files of his own stayed.
    claimed = is_framework(first.module) and ("no metadata" not in first.reason or interrupted)
    return Problem(message, seen, severity=None if claimed else Severity.WARNING)


def _gone(on: OnPython, module: str) -> str:
    name, version = _was(on, module)
    whole = f"{NAMES.get(module, name)} {version or ''}".strip()
    paths = ", ".join(r.path.rpartition("/")[2] for r in _all(on) if _is_left(r) and r.module == module)
    if one_of(on.python, module) is None:
        return f"{whole} is gone: pip was interrupted as it removed or replaced it, and left {paths}."
    return f"{whole} is half installed: pip was interrupted as it replaced it, and left {paths}; its metadata is gone."
