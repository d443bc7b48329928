"""The fix that looks for the release of a package which has a name: where no table knows when it came or went."""

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Python
from gpudoctor.fixes.bounds import bounded
from gpudoctor.fixes.python import version_of
from gpudoctor.knowledge.wanted import wanted
from gpudoctor.lazy_regex import pattern
from gpudoctor.parsers.metadata import required_name
from gpudoctor.queries.extensions import COMPANIONS
from gpudoctor.queries.packages import packages_of
from gpudoctor.registry import BY_MODULE
from gpudoctor.tasks import PackageChange, cmd

# CPython's words on a module or a name that is not there (Objects/moduleobject.c, Python/ceval.c,
# Lib/importlib/_bootstrap.py). A whole package that is missing has no dot: its release is not the reason.
_LACKED = pattern(
    r"module '([\w.]+)' has no attribute '(\w+)'|cannot import name '(\w+)' from '([\w.]+)'"
    r"|No module named '(\w+\.[\w.]+)'"
)


def lacked_name(text: str) -> str:
    """The whole path of the name that an error does not find, "moviepy.editor"; "" where it tells none."""
    found = _LACKED.search(text)
    if found is None:
        return ""
    module, attribute, name, place, whole = found.groups()
    return whole or f"{module or place}.{attribute or name}"


def release_with(
    python: Python | None, name: str, package: str, argument: str = "", but: tuple[str, ...] = ()
) -> Fix | None:
    """Look for the newest release of a package that has a name, and install it, within what the others require of it.

    Args:
        python: the environment; None: nothing is known of it.
        name: the whole path of what is lacking; "": no fix.
        package: the distribution.
        argument: a keyword argument that it has to take.
        but: packages whose requirements do not count.

    Returns:
        None where no other release suits the others, where PyPI has another project of this name, and of a framework
        and what requires one release of it: those builds depend on the GPU.
    """
    here = version_of(python, package) if python else None
    if (
        not name
        or package in (*BY_MODULE, *COMPANIONS, *wanted().other_projects)
        or (python and _pins(python, package))
    ):
        return None
    if python and here and not bounded(python, package, but, own=f"!={here}"):
        return None
    spec = (bounded(python, package, but) or package) if python else package
    takes = ("--argument", argument) if argument else ()
    of = ("--python", python.path) if python else ()
    changes = PackageChange(python.path, "pip") if python else None
    task = cmd("gpudoctor", "find-release", spec, "--with", name, *takes, *of, "--install", packages=changes)
    what = f"takes the argument {argument}" if argument else f"has {name}"
    message = f"Install the release of {package} that {what}; the command asks the package index for it."
    return Fix(message, (task,), "reinstall-package")


def _pins(python: Python, package: str) -> bool:
    """Whether a package requires one release of a framework: another release of it brings another one of that."""
    lines = (line for one in packages_of(python) if one.name == package for line in one.requires)
    return any(required_name(line) in BY_MODULE and "==" in line.partition(";")[0] for line in lines)
