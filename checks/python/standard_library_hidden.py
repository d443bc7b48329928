"""A user's file is imported instead of a standard library module."""

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import Framework, Shadow
from gpudoctor.fixes.shadows import rename, without_python_path
from gpudoctor.knowledge.standard_library import imported_later
from gpudoctor.maybe import text_of
from gpudoctor.targets import NAMES, OnPython, framework_name, pythons
from gpudoctor.tasks import Manual, query

_HERE = "working directory"


def _victims(on: OnPython, shadow: Shadow) -> tuple[Framework, ...]:
    """The frameworks whose import loads the file; those where it is unknown count."""
    return tuple(f for f in on.python.frameworks if _takes(f, shadow))


def _takes(framework: Framework, shadow: Shadow) -> bool:
    live = framework.live
    if live is None or not isinstance(live.standard, tuple) or _later(framework, shadow):
        return True
    if shadow.origin == _HERE:  # where gpudoctor imported it, the file was not in the way
        return shadow.module in live.standard
    error = live.import_error or ""
    return bool(error) and (shadow.module in live.standard or f"'{shadow.module}" in error)


def _later(framework: Framework, shadow: Shadow) -> str | None:
    """When the framework imports the module where its own import does without."""
    number = text_of(framework.version)
    return imported_later(framework.name, number, shadow.module) if number else None


def _is_late(framework: Framework, shadow: Shadow) -> bool:
    """Whether its own import is known to do without the module."""
    loaded = framework.live.standard if framework.live else None
    return isinstance(loaded, tuple) and shadow.module not in loaded


def _shadow(on: OnPython) -> Shadow | None:
    """The worst: what PYTHONPATH hides is hidden everywhere."""
    found = [s for s in on.python.shadows if s.standard and _victims(on, s)]
    return min(found, key=lambda s: s.origin == _HERE, default=None)


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    shadow = _shadow(on)
    if shadow is None:
        return ()
    verify = query(on.python.path, "-c", f"import {shadow.module}; print({shadow.module}.__file__)")
    fixes = (rename(shadow, verify),)
    if shadow.origin == _HERE:
        message = "Start Python from another directory."
        return (*fixes, Fix(message, (Manual("cd ~"),), "change-environment", verify=verify))
    return (*fixes, without_python_path(on.facts, shadow, verify))


@check(
    title="A file of yours shadows a Python standard library module",
    severity=Severity.WARNING,
    cause="Python takes the first match on sys.path, and the script's directory, the working directory and PYTHONPATH "
    "come before the standard library: every package that imports the module gets your file instead, and most then "
    "fail with an unrelated AttributeError or ImportError.",
    fixes=_fixes,
    references=(
        "https://docs.python.org/3/library/sys_path_init.html",
        "https://docs.python.org/3/whatsnew/3.13.html#improved-error-messages",
        "https://github.com/usnistgov/alignn/issues/158",
    ),
    targets=pythons,
    only_with=("pythons.shadows",),
    affects=("wheels",),
    validated_on=("environment 2026-11",),
    bearable=True,
    breaks_imports=True,
)
def standard_library_hidden(on: OnPython) -> Problem | None:
    """A path from PYTHONPATH or the working directory comes before a module that a framework loads."""
    shadow = _shadow(on)
    if shadow is None:
        return None
    victims = _victims(on, shadow)
    where = "PYTHONPATH" if shadow.origin == "PYTHONPATH" else "the working directory"
    names = " and ".join(dict.fromkeys(NAMES.get(f.name, f.name) for f in victims))
    message = f"`import {shadow.module}` loads {shadow.wins} (via {where}) instead of Python's own; {names} imports it."
    if len(victims) > 1:
        message = message.replace(" imports it.", " import it.")
    elif _is_late(victims[0], shadow) and (when := _later(victims[0], shadow)):
        message = message.removesuffix(".") + f" {when}."
    failed = [f for f in victims if shadow.origin == "PYTHONPATH" and f.live is not None and f.live.import_error]
    seen = [
        *(f"hidden: {path}" for path in shadow.loses[:1]),
        *(f"{framework_name(f)}: {error}"[:600] for f in failed if f.live and (error := f.live.import_error)),
    ]
    others = [s.wins for s in on.python.shadows if s.standard and s is not shadow and _victims(on, s)]
    return Problem(
        message, (*seen, *(f"also: {path}" for path in others[:4])), severity=Severity.ERROR if failed else None
    )
