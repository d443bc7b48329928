"""The remains of a package that was half removed or half installed."""

from collections.abc import Iterator

from gpudoctor.facts import Facts, Remnant
from gpudoctor.judge import About, Fix, Problem, Severity, check
from gpudoctor.knowledge.wanted import is_framework
from gpudoctor.remedies.python import install, reinstall_torch
from gpudoctor.subjects import OnPython, about_modules, pythons
from gpudoctor.tasks import cmd, query

_PLACEHOLDERS = ("/tensorflow_gpu-", "/tf_nightly_gpu-")


def _broken(on: OnPython) -> list[Remnant]:
    """Those that stand in the place of a package; placeholders and pip's own leftovers (~orch) do not."""
    found = (r for r in on.python.remnants if not any(word in r.path for word in _PLACEHOLDERS))
    return sorted((r for r in found if not r.why.startswith("~")), key=lambda r: not is_framework(r.module))


def _leftovers(on: OnPython) -> list[Remnant]:
    return [r for r in on.python.remnants if r.why.startswith("~")]


def _distribution(remnant: Remnant) -> str:
    """The package to install again: by the name of its metadata, else that of the module."""
    name = remnant.path.rpartition("/")[2]
    return name.partition("-")[0].replace("_", "-") if ".dist-info" in name else remnant.module


def _subjects(facts: Facts) -> Iterator[tuple[About, OnPython]]:
    for about, on in pythons(facts):
        yield about_modules(about, (r.module for r in (*_broken(on), *_leftovers(on)))), on


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    broken, left = _broken(on), _leftovers(on)
    remove = tuple(cmd("rm", "-r", r.path) for r in (*broken, *left) if "dist-info" not in r.path)
    if not broken:
        says = "Remove what pip left behind; it does nothing but make pip warn."
        return (Fix(says, remove, impact="irreversible"),)
    module = broken[0].module
    verify = query(on.python.path, "-c", f"import {module}; print({module}.__version__)")
    torch = reinstall_torch(on.facts, on.python) if module == "torch" else ()
    name = _distribution(broken[0])
    again = torch[0].tasks if torch else (install(on.python, name, force=True),)
    says = f"Remove the remains and install {name} again."
    return (Fix(says, (*remove, *again), "reinstall-package", impact="irreversible", verify=verify),)


@check(
    title="A package was half removed or half installed",
    severity=Severity.ERROR,
    cause="pip was interrupted, or files were in use or added by hand, so that parts of the package remain: a folder "
    "without __init__.py is imported as an empty namespace package, and metadata without a module is nothing at all.",
    fixes=_fixes,
    references=(
        "https://docs.python.org/3/reference/import.html#namespace-packages",
        "https://github.com/vladmandic/sdnext/issues/3797",
    ),
    each=_subjects,
    because=("python.interpreter-broken",),
    affects=("wheels",),
    seen=("simulated 2026-11",),
)
def half_removed(on: OnPython) -> Problem | None:
    """A folder that is no package any more, metadata without its module, or what pip left."""
    broken, left = _broken(on), _leftovers(on)
    if not broken and not left:
        return None
    first = (broken or left)[0]
    seen = tuple(f"{r.path}: {r.why}" for r in (*broken, *left)[:5])
    if not broken:
        return Problem(
            f"{first.path} is what pip left of {first.module} when it removed it.", seen, severity=Severity.ADVICE
        )
    says = f"{first.path} is only the remains of {first.module} ({first.why}): it is incomplete and cannot be used."
    # Where no metadata is left, nothing claims to be installed: somebody removed it, and files of his own stayed.
    claimed = is_framework(first.module) and "no metadata" not in first.why
    return Problem(says, seen, severity=None if claimed else Severity.WARNING)
