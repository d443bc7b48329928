"""Which two packages a traceback shows not to fit: the one whose code raised the error, and the one it is about."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from gpudoctor.check_engine import Fix
from gpudoctor.facts import Facts, Package, PackageImport
from gpudoctor.fixes.bounds import clash
from gpudoctor.fixes.by_message import pip
from gpudoctor.fixes.find_release import lacked_name, release_with
from gpudoctor.fixes.other_release import any_release, held, lacked_in, newer, other_release, with_plugin
from gpudoctor.fixes.python import install, uninstall
from gpudoctor.knowledge.import_errors import distribution_of, import_errors
from gpudoctor.knowledge.release_dates import release_dates, released
from gpudoctor.knowledge.release_families import Removed, RemovedArgument, release_families
from gpudoctor.knowledge.wanted import matters, shared_by, wanted
from gpudoctor.lazy_regex import pattern
from gpudoctor.maybe import known_or, text_of
from gpudoctor.parsers.metadata import is_optional, normalise, required_name
from gpudoctor.queries.packages import numbers, packages_of, release
from gpudoctor.registry import BY_MODULE
from gpudoctor.symptoms.extractors import NOTHING, Extracted
from gpudoctor.symptoms.program_source import called
from gpudoctor.targets import OnPython
from gpudoctor.tasks import cmd, code

# CPython's words where a module lacks a name (Objects/moduleobject.c, Python/ceval.c, Lib/importlib/_bootstrap.py), or
# a function a parameter (Python/ceval.c). That an object lacks a method is mostly the program's own mistake.
_OF_MODULE = pattern(
    r"(?:AttributeError: module '([\w.]+)' has no attribute '(\w+)'"
    r"|ImportError: cannot import name '(\w+)' from '([\w.]+)'|ModuleNotFoundError: No module named '(\w+\.[\w.]+)'"
    r"|AttributeError: (\w+)[\w.]*\.(\w+) was (?:deprecated in \w+ v?[\d.]+ and )?removed in \w+ v?\d)"  # JAX's own
)
_OF_CALL = pattern(r"TypeError: .*(?:unexpected keyword argument|required (?:positional|keyword-only) argument)")
# What pickle says of an object whose class the installed release does not have (Lib/pickle.py, Modules/_pickle.c).
_PICKLED = pattern(r"Can't get attribute '(\w+)' on <module '(\w+)\.[\w.]+' from")
_ARGUMENT = pattern(r"TypeError: ([\w.]+?)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'")
_CALLED = pattern(r"TypeError: ([\w.]+\(\))")
# CPython's words where a module is used while it is imported: mostly by itself, as a file that is called like it.
_HIDDEN = pattern(r"partially initialized module '(\w+)'")
_NAMESPACE = "(unknown location)"  # of a directory without __init__.py (PEP 420)
_FILE = pattern(r"\((/[^)]+)\)")  # the file that CPython names behind a module
# Directories that several distributions share: their name is none's.
SPACES = ("google", "nvidia")
_GPU = "the GPU is not involved"


def callers(text: str, frames: Sequence[str]) -> tuple[str, str]:
    """The package whose code raised an exception, and the one that it is about; "" where it is none, or not known.

    Args:
        text: the exception's line.
        frames: the top packages of the traceback's files, the innermost first; "" is a file of the program's own.
    """
    found = _OF_MODULE.search(text)
    other = (found[1] or found[4] or found[5] or found[6]).partition(".")[0] if found else ""
    if not other and "NumPy" in text:  # the __getattr__ of numpy raises it
        other = "numpy"
    if "escriptors cannot" in text:  # protobuf's own words, google/protobuf/descriptor.py
        other = "google"
    # A package may itself say that it lacks a name: by the __getattr__ of its module.
    return next((one for one in frames if one != other), ""), other


def mismatch(text: str, frames: Sequence[str], facts: Facts | None, file: str = "") -> Extracted:
    """What an exception tells of two packages that were not written for each other.

    Args:
        text: the exception's line.
        frames: the top packages of the traceback's files, as of `callers`.
        facts: of the machine on which it was raised; None: nothing is known of it.
        file: the last of the program's own files that the traceback names.
    """
    row = _argument(text, facts)
    # The wrappers of a function belong to its own package; who calls it is the next.
    who = next((one for one in frames if distribution_of(one) != row.package), None) if row else None
    if row and who is not None:
        return _renamed(row, text, facts, "" if who else file, who)
    call = _ARGUMENT.search(text)
    if call and facts and file and (of_call := _of_call(facts, file, *call.groups())) is not NOTHING:
        return of_call
    found = _OF_MODULE.search(text)
    caller, other = callers(text, frames)
    if hidden := _HIDDEN.search(text):
        hides = hidden[1] not in frames and environment(facts, hidden[1]) is not None
        return _of_file(hidden[1]) if hides else NOTHING
    if pickled := _PICKLED.search(text):
        return _of_pickle(facts, *pickled.groups())
    if not frames or not (found or (caller and caller not in BY_MODULE and _OF_CALL.search(text))):
        return NOTHING
    named = _FILE.search(text)
    if (named and "-packages/" not in named[1]) or (found and not other) or {caller, other} & {*SPACES}:
        return NOTHING  # a file of the program's own hides the package, which a check names
    lacked = (found[2] or found[3] or found[7] or "") if found else ""
    on = environment(facts, other or caller)
    if on is None:
        if other and caller:
            return _by_names(caller, other, lacked, text)
        return _unlike(other, found[5]) if found and found[5] else NOTHING
    packages = {one.name: one for one in known_or(on.python.packages, ())}
    writers = [packages[name] for name in shared_by(other) if name in packages]
    if len({one.version for one in writers}) > 1:
        return _mixed(on, other, writers)
    own, theirs = packages.get(distribution_of(caller)), packages.get(distribution_of(other))
    if not caller and theirs:
        return _of_program(on, theirs, lacked, text)
    if own is None and theirs and _removed(theirs, text) is not None:  # colbert is a module of colbert-ai
        return _by_names(caller, other, lacked, text)
    return _of_packages(on, own, caller, theirs, text, lacked) if own and bool(theirs) == bool(other) else NOTHING


def distribution(module: str, facts: Facts | None = None) -> str | None:
    """The distribution that brings a module; None where no table knows it, and none of its name is installed.

    colbert-ai brings the module colbert, and the distribution that is called colbert is another project.
    """
    name, table = distribution_of(module), wanted()
    if name in table.other_projects:
        return None
    known = (*table.users, *table.hidden, *release_dates().released)
    known_name = module in import_errors().imported_as or matters(name) or name in known
    return name if known_name or environment(facts, module) else None


def _argument(text: str, facts: Facts | None) -> RemovedArgument | None:
    """The row of the table about an argument that the program passes, unless the installed release still takes it."""
    call = _ARGUMENT.search(text)
    for row in release_families().argument if call else ():
        if call and call[2] in row.old and re.fullmatch(row.call, call[1]):
            on = environment(facts, row.package)
            there = next((p.version for p in packages_of(on.python) if p.name == row.package), None) if on else None
            if there is None or numbers(there) >= numbers(row.since):
                return row
    return None


def _renamed(row: RemovedArgument, text: str, facts: Facts | None, file: str, who: str) -> Extracted:
    """An argument of an older release: rename it where it only got another name, else write what took its place.

    Where a package passes it, `who`, that is upgraded, or gets the release that still takes it.
    """
    call = _ARGUMENT.search(text)
    taken, old = (call[1], call[2]) if call else ("", row.old[0])
    called = f": it is called {row.name}" if row.name else ""
    meaning = f"{taken} of {row.package} takes no {old} since {row.since}{called}; {_GPU}"
    on, spec = environment(facts, row.package), f"{row.package}<{row.since}"
    task = install(on.python, spec) if on else pip(spec)
    older = Fix(f"Install a release that still takes it: {spec}.", (task,), "reinstall-package")
    if who:
        user, there = distribution_of(who), distribution(who, facts)
        upgrade = (install(on.python, user, upgrade=True) if on else pip("--upgrade", user),) if there else ()
        upgraded = Fix(f"Upgrade {user} to a release that does without it.", upgrade, "reinstall-package")
        held = on is not None and bool(clash(on.python, spec, but=(user,)))  # others need the newer release
        fixes = (upgraded, older) if held else (older, upgraded)
        meaning = (
            f"{user} passes {old}, which {taken} of {row.package} no longer takes since {row.since}{called}; {_GPU}"
        )
        return Extracted(meaning=meaning, fixes=fixes, decided=True)
    if not (row.rename and file.endswith(".py")):  # what has to be written is no command
        change = Fix(f"Write in the program what took the place of {old}.", (code(row.now),))
        return Extracted(meaning=meaning, fixes=(older, change), decided=True)
    edit, undo = cmd("sed", "-i.bak", rf"s/\b{old}=/{row.name}=/", file), cmd("mv", f"{file}.bak", file)
    change = Fix(f"Rename the argument in the program: {old} is {row.name}.", (edit,), undo=(undo,))
    return Extracted(meaning=meaning, fixes=(change, older), decided=True)


def environment(facts: Facts | None, module: str) -> OnPython | None:
    """The checked environment that has a package, by the name that is imported; None: there is none."""
    for python in facts.pythons if facts else ():
        if any(one.name == distribution_of(module) for one in known_or(python.packages, ())):
            return OnPython(facts or Facts(), python)
    return None


def _mixed(on: OnPython, module: str, writers: list[Package]) -> Extracted:
    """Distributions of different releases that all write a module: the files of one lie among those of the other."""
    names = " and ".join(f"{one.name} {one.version}" for one in writers)
    last = max(writers, key=lambda one: numbers(one.version))
    tasks = (
        uninstall(on.python, *(one.name for one in writers)),
        install(on.python, f"{last.name}=={last.version}"),
    )
    message = "Remove all of them, then install one: uninstalling just one takes files of the others."
    meaning = f"{names} both write the module {module}, so that files of two releases are mixed; {_GPU}"
    return Extracted(meaning=meaning, fixes=(Fix(message, tasks, "reinstall-package"),), decided=True)


def _of_packages(on: OnPython, own: Package, module: str, theirs: Package | None, text: str, lacked: str) -> Extracted:
    one = PackageImport(package=own.name, version=own.version, module=module, error=text)
    name = f"{own.name} {release(own.version)}"
    if theirs is None:
        called = _CALLED.search(text)
        what = f"{called[1]} " if called else "a function "
        meaning = f"the package {name} calls {what}with arguments that it does not take: that is of another release"
        return Extracted(meaning=f"{meaning}; {_GPU}", fixes=any_release(on, one))
    pair = f"the packages {name} and {theirs.name} {release(theirs.version)} do not fit"
    meaning = f"{pair}: {theirs.name} lacks {lacked or 'a module'}, which {own.name} uses; {_GPU}"
    row = _removed(theirs, text)
    if row and row.has_older(text_of(on.python.version)):
        older = () if clash(on.python, row.older, but=(own.name,)) else (_older(row.older, on),)
        upgraded = newer(on, one, f"Upgrade {own.name} to a release that uses {row.now}.", theirs.name)
        return Extracted(meaning=meaning, fixes=(*older, upgraded), decided=True)
    return Extracted(meaning=meaning, fixes=other_release(on, one, theirs), decided=True)


def _of_program(on: OnPython, theirs: Package, lacked: str, text: str) -> Extracted:
    module = re.search(r"No module named '([\w.]+)'", text)
    what = f"the name {lacked}" if lacked else f"the module {module[1]}" if module else "a module"
    name = f"{theirs.name} {release(theirs.version)}"
    if row := _removed(theirs, text):
        meaning = f"the program uses {what}, which {name} no longer has: it was removed in {row.since}; {_GPU}"
        older = [_older(row.older, on)] if row.has_older(text_of(on.python.version)) else []
        change = Fix(f"Change the program, which can use {row.now}.")
        return Extracted(meaning=meaning, fixes=(*older, change), decided=True)
    _, came, went = lacked_in(text, theirs)
    if came or went:
        when = f"came in {came}" if came else f"was removed in {went}"
        spec = f"{theirs.name}>={came}" if came else f"{with_plugin(on, theirs.name)}<{went}"
        meaning = f"the program uses {what}, which {name} does not have: it {when}; {_GPU}"
        change = Fix("Change the program to what the release notes name in its place.")
        # What it brings stays within what the rest requires; an older one needs others as old.
        others = held(on, theirs.name) if came else _as_old(on, theirs, went)
        message = f"Install a release that has it: {' with '.join((spec, *others))}."
        if users := [user for one in others if went for user in clash(on.python, one, but=(theirs.name,))]:
            message = f"{message.rstrip('.')}, in an environment of its own: {users[0]} here cannot use that."
            return Extracted(meaning=meaning, fixes=(change, Fix(message)), decided=True)
        has = Fix(message, (install(on.python, spec, *others),), "reinstall-package")
        return Extracted(meaning=meaning, fixes=(has, change) if went else (has,), decided=True)
    meaning = f"the program uses {what}, which {name} does not have; {_GPU}"
    if lacked.startswith("__"):  # of Python's own names no release is known by
        change = Fix(f"Change the program: nothing says that another release of {theirs.name} has it.")
        return Extracted(meaning=meaning, fixes=(change,), decided=True)
    if having := release_with(on.python, lacked_name(text), theirs.name):
        having = _without_parts(on, theirs, having) if _NAMESPACE in text else having
        change = Fix("Change the program to what the release notes name in its place.")
        return Extracted(meaning=meaning, fixes=(having, change), decided=True)
    upgraded = Fix(f"If the program is newer: upgrade {theirs.name}.", (pip("--upgrade", theirs.name),))
    of_then = Fix(f"If it is older: install the {theirs.name} for which it was written, which its requirements name.")
    return Extracted(
        meaning=meaning, fixes=(of_then,) if theirs.name in BY_MODULE else (upgraded, of_then), decided=True
    )


def _as_old(on: OnPython, theirs: Package, went: str) -> list[str]:
    """The releases of what a package requires that still have what its releases from before another one used.

    diffusers before 0.26 imports what huggingface-hub 0.26 removed a few months after it.
    """
    day, found = released(theirs.name, went), []
    required = {normalise(required_name(line)) for line in theirs.requires if not is_optional(line)}
    for row in release_families().removed:
        other = next((one for one in packages_of(on.python) if one.name == row.package and one.name in required), None)
        if not (other and day and row.older and numbers(other.version) >= numbers(row.since)):
            continue
        if (gone := released(row.package, row.since)) and gone > day:
            found.append(row.older)
    return found


def _without_parts(on: OnPython, theirs: Package, having: Fix) -> Fix:
    """The same, once the distributions are removed that newer releases of a package are divided into.

    They share a directory without __init__.py, so that they stay beside the older release, and hide its modules.
    """
    names = [one.name for one in packages_of(on.python) if one.name.startswith(f"{theirs.name}-")]
    if not names:
        return having
    message = (
        f"Remove {theirs.name} with its parts, then install the release that has it; the last command asks for it."
    )
    return replace(having, message=message, tasks=(uninstall(on.python, theirs.name, *names), *having.tasks))


def _unlike(top: str, module: str) -> Extracted:
    """A package that is there lacks one of its modules: where all of it was missing, Python would name the package."""
    other = "another release has it, or another package of this name"
    meaning = f"the {top} that Python finds has no module {module}: {other}; {_GPU}"
    see = cmd("python", "-c", f"import {top}; print({top}.__path__)", lookup=True)
    fixes = (Fix(f"See which {top} Python finds: a directory or a file of your own hides the package.", (see,)),)
    having = release_with(None, module, distribution_of(top)) if distribution(top) else None
    return Extracted(meaning=meaning, fixes=(having, *fixes) if having else fixes, decided=True)


def _of_call(facts: Facts, file: str, name: str, argument: str) -> Extracted:
    """An argument that the program passes and the installed release of a package does not take: of another release."""
    path = called(file, name, argument)
    top = path.partition(".")[0]
    on = environment(facts, top) if path else None
    theirs = next((one for one in packages_of(on.python) if one.name == distribution_of(top)), None) if on else None
    having = release_with(on.python, path, theirs.name, argument) if on and theirs else None
    if theirs is None or having is None:
        return NOTHING
    meaning = f"the program passes {argument} to {path}, which {theirs.name} {release(theirs.version)} does not take"
    change = Fix("Change the program to what the release notes name in its place.")
    return Extracted(meaning=f"{meaning}; {_GPU}", fixes=(having, change), decided=True)


def _of_file(module: str) -> Extracted:
    """A file of the program's own that is imported in place of the package whose name it has."""
    meaning = f"a file of the program's own is called {module}.py and hides the package {module}; {_GPU}"
    tasks = (cmd("mv", f"{module}.py", f"{module}_own.py"), cmd("rm", "-rf", "__pycache__"))
    message = "Rename it, in the directory of the program; where two of its own modules import each other, part them."
    return Extracted(meaning=meaning, fixes=(Fix(message, tasks),), decided=True)


def _of_pickle(facts: Facts | None, name: str, module: str) -> Extracted:
    """A file that holds an object of another release of a package."""
    on, there = environment(facts, module), distribution(module, facts)
    package = there or f"the package that has the module {module}"
    meaning = f"the file holds an object of the class {name}, which the installed release of {package} lacks; {_GPU}"
    tasks = (install(on.python, there, upgrade=True) if on else pip("--upgrade", there),) if there else ()
    fix = Fix(f"Upgrade {package}: mostly a newer release has written the file.", tasks, "reinstall-package")
    return Extracted(meaning=meaning, fixes=(fix,), decided=True)


def _older(spec: str, on: OnPython | None = None) -> Fix:
    """Install the releases that still have a name; where of the machine nothing is known, by its own pip."""
    task = install(on.python, spec) if on else pip(spec)
    return Fix(f"Install {spec}, which still has it.", (task,), "reinstall-package")


def _removed(theirs: Package, text: str) -> Removed | None:
    """The row of the table about a name that the installed release of a package no longer has."""
    rows = (row for row in _rows_of(theirs.name, text) if numbers(theirs.version) >= numbers(row.since))
    return next(rows, None)


def _rows_of(name: str, text: str) -> list[Removed]:
    return [row for row in release_families().removed if row.package == name and re.search(row.pattern, text)]


def _by_names(caller: str, other: str, lacked: str, text: str) -> Extracted:
    """The same, where of the machine nothing is known: by the names in the traceback."""
    own, theirs = distribution_of(caller), distribution_of(other)
    lack = f"{theirs} lacks {lacked or 'a module'}, which {own} uses"
    meaning = f"the packages {own} and {theirs} do not fit: {lack}; {_GPU}"
    message = f"Upgrade {own} to a release that works with the installed {theirs}."
    there = distribution(caller)
    if there is None:
        message = f"Upgrade the package that has the module {caller}, from where it was installed."
    upgraded = Fix(message, (pip("--upgrade", there),) if there else ())
    older = Fix(f"Install the {theirs} for which {own} was written: `pip show` and its requirements name it.")
    if had := next((row.older for row in _rows_of(theirs, text) if row.older), ""):
        return Extracted(meaning=meaning, fixes=(_older(had), upgraded), decided=True)
    having = release_with(None, lacked_name(text), theirs) if distribution(other) else None
    return Extracted(meaning=meaning, fixes=(having, upgraded) if having else (upgraded, older), decided=True)
