"""Imports the packages that compute on GPUs, each in a child of its own, and keeps what they say."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic
from typing import Any

from msgspec.structs import replace

from gpudoctor import workers
from gpudoctor.child import ChildResult
from gpudoctor.facts.python import LibraryUser, PackageImport, Python
from gpudoctor.knowledge.release_families import release_families
from gpudoctor.knowledge.wanted import computes, late_call, names_used, part_for, shared_by, wanted
from gpudoctor.lazy_regex import pattern
from gpudoctor.machine import Machine
from gpudoctor.maybe import Maybe, Unknown, known_or
from gpudoctor.parsers.crash_output import tail
from gpudoctor.parsers.metadata import is_optional, normalise, required_name
from gpudoctor.probes import executable_stack
from gpudoctor.probes.frameworks.live import said_in
from gpudoctor.probes.frameworks.refusals import plain
from gpudoctor.probes.python.gpu_packages import module_in_namespace, modules_of, needs_torch
from gpudoctor.probes.python.interpreter import child_environment
from gpudoctor.probes.python.packages import FoundDistribution, text_of
from gpudoctor.probes.temp_home import spare_home
from gpudoctor.queries.loading import missing_in_words

# vLLM, the slowest known, takes 20 s from a cold disk; three times that is a hang.
SECONDS = 60.0
# The share of the time that is left which all imports together may take.
SHARE = 0.6
# All together: later than this none is begun, since an environment with many of them would cost minutes. Those that
# miss a requirement come first, then those that are known to compute on GPUs; what was not reached is reported.
BUDGET = 30.0
MOST = 16
# Packages that only require a GPU package: how many are imported, and the seconds for each; the rest is said.
MOST_DEPENDENTS, DEPENDENT_SECONDS = 8, 20.0
TAIL = 20  # lines of stderr that are kept
# CPython's words: Lib/importlib/_bootstrap.py, Python/ceval.c (import_from) and Objects/moduleobject.c.
_BY_NAME = pattern(
    r"^(?:ModuleNotFoundError: No module named '([\w.]+)'|ImportError: cannot import name '\w+' from '([\w.]+)'"
    r"|AttributeError: module '([\w.]+)' has no attribute)"
)
_LOADER = pattern(
    r"\.so[\w.]*: (?:cannot open shared object file|undefined symbol|version [`'])"
    # Code that was compiled against another NumPy: numpy/__init__.pxd, and NumPy's C API.
    r"|size changed, may indicate binary incompatibility|compiled using NumPy 1\.x|multiarray failed to import"
)
# A package that itself refuses the release of another one.
_REFUSES = pattern(r"(?i)\bincompatible\b.*\binstall\b|\binstall [\w-]+ ?[<>=]=?")
_SCRIPT = workers.script("import_package.py")
_SET = {"PYTHONFAULTHANDLER": "1", "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "HF_HUB_OFFLINE": "1"}


def probe(
    machine: Machine,
    python: Python,
    packages: Sequence[FoundDistribution],
    dependents: Sequence[FoundDistribution] = (),
) -> Maybe[tuple[PackageImport, ...]]:
    """Import each package; never raises, and keeps what was reported before a crash or a hang.

    Args:
        machine: where they run, in the examined environment.
        python: the interpreter, with its frameworks.
        packages: the distributions with code for GPUs.
        dependents: those that only require one of them, in the order in which they are imported while there is time.
    """
    unmet, begun = {each.package for each in python.unmet}, monotonic()
    wanted = [(one, module) for one in packages for module in modules_of(one) or module_in_namespace(machine, one)]
    wanted.sort(key=lambda job: (job[0].package.name not in unmet, not computes(job[0].package.name)))
    later = [(one, module) for one in dependents for module in modules_of(one)[:1] or module_in_namespace(machine, one)]
    later.sort(key=lambda job: job[0].package.name not in unmet)
    if not (wanted or later):
        return ()
    if not machine.here:
        return Unknown("programs are not run under another root") if wanted else ()
    if machine.driver_hangs:
        return Unknown("the driver does not respond, so an import would hang too") if wanted else ()
    end = machine.left(SECONDS / SHARE) * SHARE

    def one(job: tuple[FoundDistribution, str]) -> PackageImport:
        if monotonic() - begun >= BUDGET:
            return _why(_asked(*job), f"not imported: the imports before it took {BUDGET:.0f} s")
        return _imported(machine, python, *job, end)

    def dependent(job: tuple[FoundDistribution, str]) -> PackageImport:
        if monotonic() - begun >= BUDGET:
            return replace(one(job), dependent=True)
        seconds = min(DEPENDENT_SECONDS, machine.left(DEPENDENT_SECONDS / SHARE) * SHARE)
        found = job[0]
        return about_others(_imported(machine, python, *job, seconds), found, partial(_brings, machine, found))

    with ThreadPoolExecutor(max_workers=min(max(len(wanted), len(later)), _cores())) as pool:
        imported = (*pool.map(one, wanted[:MOST]), *pool.map(dependent, later[:MOST_DEPENDENTS]))
    rest = [(job, False) for job in wanted[MOST:]] + [(job, True) for job in later[MOST_DEPENDENTS:]]
    unreached = (
        replace(_why(_asked(*job), "more packages than one run imports"), dependent=also) for job, also in rest
    )
    return (*imported, *unreached)


def about_others(
    one: PackageImport, found: FoundDistribution, brings: Callable[[str], bool] = lambda _: False
) -> PackageImport:
    """Keep the error of a package only where it is about another one that it requires, or of the loader.

    What is not required may be an optional part; a display, credentials or an argument that is missing is no error of
    the environment.

    Args:
        one: what the import did.
        found: the distribution, with its requirements.
        brings: whether what it requires brings a module, by files: opencv-python brings cv2.
    """
    error = one.error if isinstance(one.error, str) else ""
    match = _BY_NAME.match(error)
    name = next((part for part in match.groups() if part), "") if match else ""
    top = name.partition(".")[0]
    required = [normalise(line) for line in found.package.requires if not is_optional(line)]
    names = {required_name(line) for line in required}
    named = any(_is_of(normalise(top), line) for line in required) or not names.isdisjoint(shared_by(top))
    # Only of a module that is there does Python say that it lacks a name, or a module within it.
    there = bool(match and (match[2] or match[3] or "." in match[1]))
    foreign = bool(top) and top != one.module and (there or named or brings(top))
    # Names that load wherever what the package requires is there and fits: any error is one of the environment.
    unusable = one.part is not None and not error.startswith("OSError")
    # An object of another package lacks what this one uses of it.
    lacking = bool(one.blamed) and one.blamed != one.module and error.startswith(("AttributeError: ", "TypeError: "))
    # Of what programs import by name: without that module they do not start, whatever the metadata says.
    alone = error.startswith("ModuleNotFoundError") and top != one.module and one.package in wanted().users
    known = lacking or alone or bool(_REFUSES.search(error)) or _is_known(one.package, error)
    about = unusable or foreign or known or _LOADER.search(error) or _names_release(error, required)
    if one.error is None or about:
        return replace(one, dependent=True, hung=False, died=None)
    why = one.error if isinstance(one.error, Unknown) else Unknown(f"its import needs something else: {error[:200]}")
    return replace(one, dependent=True, error=why, hung=False, died=None)


def _is_known(package: str, error: str) -> bool:
    """Whether a table knows which package dropped what an import did not find, or what this one needs unsaid."""
    table = release_families()
    needs = (row.error for row in table.undeclared if row.error and row.is_about(package))
    return any(re.search(part, error) for part in (*(row.pattern for row in table.removed), *needs))


def _names_release(error: str, required: Sequence[str]) -> bool:
    """Whether an error names a release of what a package requires: "needs NumPy 2.1 or less", "removed in JAX 0.7"."""
    if not error.startswith(("ImportError: ", "AttributeError: ")):
        return False
    names = {required_name(line) for line in required}
    return any(re.search(rf"(?i)\b{re.escape(name)}\b[^\n]{{0,20}}\d", error) for name in names)


def _is_of(module: str, requirement: str) -> bool:
    """Whether a requirement brings a module, as far as names tell: cuda-python brings cuda."""
    return requirement.startswith(module) and not requirement[len(module) :][:1].isalnum()


def _brings(machine: Machine, found: FoundDistribution, module: str) -> bool:
    """Whether an installed distribution that a package requires brings a module, by its RECORD."""
    folder = found.package.directory
    required = {normalise(required_name(line)) for line in found.package.requires if not is_optional(line)}
    places = (
        f"{folder}/{name}"
        for name in machine.names(folder)
        if name.endswith(".dist-info") and normalise(name.partition("-")[0]) in required
    )
    return any(f"\n{module}/" in f"\n{text_of(machine, f'{place}/RECORD')}" for place in places)


def _imported(machine: Machine, python: Python, found: FoundDistribution, top: str, seconds: float) -> PackageImport:
    package = found.package
    there = {framework.name: framework for framework in python.frameworks}
    module = part_for(package.name, there) or top
    said = _asked(found, module)
    framework = "torch" if needs_torch(found) and "torch" in there else None
    live = there[framework].live if framework else None
    if framework and (live is None or live.import_error or live.died or live.hung):
        return _why(said, f"it needs {framework}, which does not import")
    hurried = machine.left(seconds) < seconds
    asked = ",".join((*names_used(package.name), *([f"{call}()"] if (call := late_call(package.name)) else [])))
    argv = [python.path, _SCRIPT, f"{module}:{asked}" if asked else module, *([framework] if framework else [])]
    with spare_home(child_environment(machine) | _SET) as at_home:
        ended = machine.run(argv, seconds, at_home, patient=True)
    one = read(said, ended, hurried=hurried or seconds < SECONDS)
    libraries = (f"{package.directory}/{claim}" for claim in found.claims if ".so" in claim)
    error = one.error if isinstance(one.error, str) else None
    outside = _outside(machine, known_or(python.sys_path, ()), error) if error else None
    asking = executable_stack.asking(machine, error, libraries)
    return replace(one, executable_stack=asking, outside=outside, user=_user(machine, found, one))


def _user(machine: Machine, found: FoundDistribution, one: PackageImport) -> LibraryUser | None:
    """The other package whose library needs what the loader did not find."""
    missing = missing_in_words(one.error) if isinstance(one.error, str) else ()
    if not missing:
        return None
    from gpudoctor.probes.python import library_users  # it reads libraries, which is hardly ever needed

    return library_users.find(machine, found, missing[0], one.blamed)


def _outside(machine: Machine, sys_path: Sequence[str], error: str) -> str | None:
    """The file of a module that an error does not find in a package, where a wheel laid it next to that package."""
    match = _BY_NAME.match(error)
    top, _, rest = (match[1] or "" if match else "").partition(".")
    path = f"{rest.rpartition('.')[2]}.py"
    places = (folder for folder in sys_path if rest and machine.exists(f"{folder}/{top}/__init__.py"))
    return next((f"{folder}/{path}" for folder in places if machine.exists(f"{folder}/{path}")), None)


def read(asked: PackageImport, ended: ChildResult, *, hurried: bool = False) -> PackageImport:
    """Make facts of what the child reported.

    Args:
        asked: the package.
        ended: how the child ended, with its output.
        hurried: it had less than its full time, so that no answer is no hang.
    """
    said = said_in(ended.out)
    lock = said.get("lock")
    died = None if ended.timed_out or ended.cancelled else ended.signal
    common: dict[str, Any] = {
        "package": asked.package,
        "version": asked.version,
        "module": asked.module,
        "file": said.get("file") if isinstance(said.get("file"), str) else None,
        "seconds": said.get("import_seconds") if isinstance(said.get("import_seconds"), float) else None,
        "stderr": tail(plain(ended.err), TAIL),
        "lock": lock if isinstance(lock, str) else None,
        "part": said["part"] if isinstance(said.get("part"), str) else None,
        "blamed": said["blamed"] if isinstance(said.get("blamed"), str) else None,
    }
    error = said.get("import_error")
    if isinstance(error, str):
        return PackageImport(**common, error=error, later=said.get("later") is True)
    if died or (ended.timed_out and not hurried):
        return PackageImport(**common, died=died, hung=ended.timed_out, error=Unknown("the import did not end"))
    if said.get("imported") is True:
        return PackageImport(**common)
    return PackageImport(**common, error=Unknown(_reason(said, ended)))


def _reason(said: dict[str, Any], ended: ChildResult) -> str:
    """Why it is unknown whether the package can be imported."""
    if said.get("without"):
        return f"it needs {said['without']}, which does not import"
    if said.get("builds"):
        return "it compiles an extension when it is imported"
    if ended.timed_out:
        return f"no response within {ended.seconds:.0f} s, all the time that was left"
    if ended.missing:
        return f"the interpreter was not started: {ended.missing}"
    return "the run was canceled" if ended.cancelled else f"the process exited with code {ended.code}"


def _asked(found: FoundDistribution, module: str) -> PackageImport:
    return PackageImport(package=found.package.name, version=found.package.version, module=module)


def _why(asked: PackageImport, why: str) -> PackageImport:
    return PackageImport(package=asked.package, version=asked.version, module=asked.module, error=Unknown(why))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
