"""`gpudoctor find-release PACKAGE --with NAME`: the release of a package that has what a program imports from it."""

import argparse
from typing import TYPE_CHECKING

from gpudoctor.cli import FAILED, INCOMPLETE, OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.output import complain, out

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.version import Version

    from gpudoctor.facts import Python
    from gpudoctor.releases.search import ExaminedRelease, ReleaseSearch, WantedName

DESCRIPTION = """Find the release of a package that has a module, a name or an argument that the installed one lacks.
pip unpacks the last release of some minor releases into a temporary directory, where they are read and never imported.
If the newest of all has the name, the first major release that has it is chosen, else the newest before the installed
release. The last line shows the command that installs it."""


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser(
        "find-release", help="find the release of a package that has a missing name", description=DESCRIPTION
    )
    one.add_argument("package", metavar="PACKAGE", help="the package, with a specifier if you like: 'scipy>=1.9'")
    one.add_argument(
        "--with",
        dest="name",
        metavar="NAME",
        required=True,
        help="the module or the name that it has to have, with its whole path: scipy.integrate.simps",
    )
    one.add_argument("--argument", default="", metavar="NAME", help="a keyword argument that it has to take")
    one.add_argument("--install", action="store_true", help="install the release that was found")
    one.add_argument(
        "--python", metavar="PATH", help="the interpreter or environment to install for (default: as `gpudoctor check`)"
    )
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Search, and install where that is wanted; gives the exit code."""
    from gpudoctor.releases.pip_index import IndexUnavailableError

    wanted, asked = _wanted(arguments), _requirement(arguments.package)
    python = _python(arguments.python)
    try:
        return _searched(python, asked, wanted, arguments.install)
    except IndexUnavailableError as error:
        complain(str(error))
        return INCOMPLETE


def _wanted(arguments: argparse.Namespace) -> "WantedName":
    """What the release has to have.

    Raises:
        UsageError: it is no path of a name.
    """
    from gpudoctor.releases.search import WantedName

    for name in filter(None, (arguments.name, arguments.argument)):
        if not all(part.isidentifier() for part in name.split(".")):
            raise UsageError(f'"{name}" is not a name in Python: give one such as scipy.integrate.simps.')
    return WantedName(arguments.name, arguments.argument)


def _requirement(text: str) -> "Requirement":
    """The package and the releases that may be installed.

    Raises:
        UsageError: it is none.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        found = Requirement(text)
    except InvalidRequirement:
        raise UsageError(f'"{text}" is not a package with a specifier, such as scipy>=1.9.') from None
    if found.url or found.marker or found.extras:
        raise UsageError(f'"{text}" is more than a package with a specifier, such as scipy>=1.9.')
    return found


def _python(path: str | None) -> "Python":
    """What is known of the environment.

    Raises:
        UsageError: there is no such interpreter.
    """
    from gpudoctor.library import gather
    from gpudoctor.probes.python.choice import InterpreterError

    try:
        facts = gather(python=(path,) if path else (), quick=True)
    except InterpreterError as error:
        raise UsageError(str(error)) from None
    if not facts.pythons:
        raise UsageError("No Python environment was found: name one with --python.")
    return facts.pythons[0]


def _searched(python: "Python", asked: "Requirement", wanted: "WantedName", installs: bool) -> int:
    from gpudoctor.fixes.bounds import builds
    from gpudoctor.fixes.python import install
    from gpudoctor.parsers.metadata import normalise
    from gpudoctor.queries.packages import packages_of
    from gpudoctor.releases.pip_index import PipIndex
    from gpudoctor.releases.public_names import PublicNames
    from gpudoctor.releases.search import ReleaseSearch
    from gpudoctor.tasks.as_typed import shown

    here = next((one for one in packages_of(python) if one.name == normalise(asked.name)), None)
    if here and wanted.is_in(PublicNames(here.directory)):
        out(f"{here.name} {here.version}, which is installed, has {wanted.shown} in its files: no release is needed.\n")
        return OK
    index = PipIndex(python.path)
    versions = index.versions(asked.name, str(asked.specifier))
    there = _version(here.version) if here else None
    search = ReleaseSearch(index, asked.name, wanted, lambda one: _tell(asked.name, one))
    best = search.best(versions, there)
    if best is None:
        complain(_nothing(asked, wanted, search))
        return FAILED
    task = install(python, f"{asked.name}=={best}", *builds(python).values())
    if installs:
        from gpudoctor.cli.confirm import run as run_in_sight
        from gpudoctor.cli.confirm import tell
        from gpudoctor.setup.executor import argv_of

        tell(f"$ {shown(task, sudo=False)}")
        return run_in_sight(argv_of(task, sudo=False))
    out(f"Install it: {shown(task, sudo=False)}\n")
    return OK


def _version(text: str) -> "Version | None":
    from packaging.version import InvalidVersion, Version

    try:
        return Version(text)
    except InvalidVersion:
        return None


def _tell(package: str, one: "ExaminedRelease") -> None:
    """A line on a release that was looked at, as soon as that is known."""
    import sys

    from gpudoctor.report.sanitize import clean

    what = f"cannot be installed: {clean(one.error)}" if one.error else "has it" if one.has else "does not have it"
    out(f"{package} {one.version} {what}\n")
    sys.stdout.flush()


def _nothing(asked: "Requirement", wanted: "WantedName", search: "ReleaseSearch") -> str:
    if search.timed_out:
        return f"There was no time to look at more releases of {asked.name}: none so far has {wanted.shown}."
    number = search.examined
    return f"None of the {number} releases of {asked} that were looked at has {wanted.shown}."
