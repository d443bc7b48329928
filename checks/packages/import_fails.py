"""A GPU package cannot be imported."""

import re
from itertools import islice

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.facts import PackageImport
from gpudoctor.fixes.jetson import is_jetson
from gpudoctor.fixes.loading import clear_executable_stack, import_proof, without_compiled_part
from gpudoctor.fixes.missing_module import missing_module
from gpudoctor.fixes.other_release import (
    any_release,
    as_stated,
    blamed,
    is_of_interface,
    newer,
    newer_torch_needed,
    other_release,
    release_asked,
    stated,
)
from gpudoctor.fixes.python import install, lasting
from gpudoctor.knowledge import import_errors
from gpudoctor.knowledge.import_errors import Survived, survived
from gpudoctor.knowledge.symptoms import Symptom, recognise
from gpudoctor.knowledge.variables import variables
from gpudoctor.knowledge.wanted import matters, of_command
from gpudoctor.maybe import Unknown
from gpudoctor.parsers.crash_output import dying_words
from gpudoctor.queries.frameworks import first_line
from gpudoctor.queries.gpus import amd_gpus, nvidia_gpus
from gpudoctor.queries.loading import NO_CUDA, failures, imports_of, is_native, know_all, lacked_symbol
from gpudoctor.queries.packages import packages_of, release
from gpudoctor.targets import OnPython, pythons
from gpudoctor.tasks import Manual, cmd, export, unset

_MODULE = re.compile(r"No module named '([\w.]+)'")
_OUTSIDE = (
    "The wheel of the package lays one of its modules into site-packages, next to the package instead of into it. What "
    "imports it under the package's name does not find it, although it is installed."
)
# What only some builds of a framework have.
_OF_BUILDS = re.compile(r"(?i)cuda|gpu|\bhip|rocm|xpu|nccl|distributed|c10d|triton")
# What keeps a framework or a package from the GPU.
_NO_GPU = (
    *("cupy.*", "device.*", "driver.*", "container.*", "intel.*", "jax.*", "onnxruntime.*", "pytorch.*", "rocm.*"),
    *("tensorflow.*", "visibility.*", "wsl.*"),
    *("packages.cpu-package", "packages.driver-too-new", "packages.driver-too-old", "packages.gpu-too-old"),
)
_SYMBOL = "undefined-symbol"
# A line of absl's log, as of TensorFlow: "2026-11-29 09:50:13.325594: I tensorflow/core", "W0000 00:00:17".
_INFORMS = re.compile(r"\d{4}-\d\d-\d\d [\d:.]+: [IW] |[IW]\d{4} \d\d:|To enable the following instructions: ")
_LEFT_OPEN = re.compile(r"\b(?:FILE|SCRIPT|OTHER)\b")  # what no check knows
_SBSA = (
    "The wheels of PyPI for aarch64 are built for servers (SBSA). A Jetson runs only code that was compiled for its "
    "own compute capability, against the CUDA of Jetson Linux (L4T)."
)
_OLD_DRIVER = (
    "The NVIDIA driver is older than what this build calls: its libcuda.so.1 lacks the function. Minor version "
    "compatibility covers the CUDA libraries' own functions, not those of a newer driver."
)
_OLD_LIBRARY = (
    "The loader took a {library} that is older than the one with which the package was compiled: newer minor releases "
    "of a CUDA library add functions."
)


def _dead(on: OnPython) -> list[PackageImport]:
    return [one for one in imports_of(on.python) if one.died]


def _first(on: OnPython) -> PackageImport | None:
    """The package to speak of: one that the loader refuses before one that raises something else."""
    failing = sorted(failures(on.python), key=lambda pair: (_of_command(pair[0]), not is_native(pair[1])))
    return next((one for one, _ in failing), None) or next(iter(_dead(on)), None)


def _of_command(one: PackageImport) -> bool:
    """Whether only a command of the package uses what fails, and no program."""
    return one.part in of_command(one.package)


def _crippled(on: OnPython) -> tuple[PackageImport, Survived, str] | None:
    """A package that was imported and reports that its compiled part did not load, with a GPU to use it for."""
    if not (nvidia_gpus(on.facts) or amd_gpus(on.facts)):
        return None
    for one in imports_of(on.python):
        if one.error is None and (found := survived(one.package, one.stderr)):
            return one, *found
    return None


def _fixes(on: OnPython) -> tuple[Fix, ...]:
    one = _first(on)
    if one is None:
        found = _crippled(on)
        return _by_variable(on, found[0]) or without_compiled_part(on, found[0], found[1]) if found else ()
    proof, version = import_proof(on, one), release(one.version)
    if one.executable_stack:
        return (clear_executable_stack(on.facts, one.executable_stack, proof),)
    error = one.error if isinstance(one.error, str) else ""
    if one.outside and (name := _MODULE.search(error)):
        return _into_its_package(on, one, one.outside, name[1])
    if lacked := lacked_symbol(error):
        from gpudoctor.fixes.older_library import newer_library  # only where a package fails

        return newer_library(on, one, lacked)
    hint, other = import_errors.hint(error), blamed(on, one)
    row = recognise(first_line(error)) if error and not other else None
    fixes = [Fix(hint.fix, action="reinstall-package", verify=proof)] if hint and hint.fix else []
    if not fixes and (missing := missing_module(on, one)):
        return missing
    if asked := release_asked(error, {p.name for p in packages_of(on.python)}):
        message = f"Install the release that {one.package} asks for.{lasting(on.facts)}"
        return (Fix(message, (install(on.python, asked),), "reinstall-package", verify=proof),)
    if needed := stated(on, one):
        return as_stated(on, one, *needed)
    if not fixes and row:
        fixes = _steps(on, row, one)
    if other:
        return (*fixes, *other_release(on, one, other))
    if not fixes and not hint and is_of_interface(one):
        return any_release(on, one)
    if one.dependent:  # it has no compiled code of its own that could be damaged
        fit = newer(on, one, f"Upgrade {one.package} to a release that fits what it imports.")
        return (fit, *fixes) if row and row.id == _SYMBOL else (*fixes, fit)  # the same files lack the same symbol
    message = f"Reinstall {one.package} in the same version: its files may be damaged.{lasting(on.facts)}"
    task = install(on.python, f"{one.package}=={version}", force=True, no_deps=True)
    return (*fixes, Fix(message, (task,), "reinstall-package", verify=proof))


def _by_variable(on: OnPython, one: PackageImport) -> tuple[Fix, ...]:
    """Unset the variable by which a package chose the library that does not load, where its output names it."""
    there = on.facts.host.environment
    name = next((r.name for r in variables().selects.rows if there.get(r.name) and r.name in one.stderr), None)
    if name is None:
        return ()
    message = f"Unset {name}, by which {one.package} takes that library, here and where it is set."
    undo = (export(name, there[name]),)
    return (Fix(message, (unset(name),), "change-environment", undo=undo, verify=import_proof(on, one)),)


def _steps(on: OnPython, row: Symptom, one: PackageImport) -> list[Fix]:
    """The first step of a message's row; the package that it leaves open is the one that fails."""
    from gpudoctor.fixes.row_steps import steps  # only where a package fails

    proof, found = import_proof(on, one), []
    whole = (step for step in steps(row, on.facts) if not any(_LEFT_OPEN.search(line) for line in step.commands))
    for step in islice(whole, 1):
        tasks = tuple(Manual(re.sub(r"\bPACKAGE\b", one.package, line)) for line in step.commands)
        found.append(Fix(step.message, tasks, "reinstall-package", verify=proof))
    return found


def _into_its_package(on: OnPython, one: PackageImport, outside: str, module: str) -> tuple[Fix, ...]:
    proof, place = import_proof(on, one), f"{outside.rpartition('/')[0]}/{module.replace('.', '/')}.py"
    message = f"Copy the file to where {one.package} looks for the module.{lasting(on.facts)}"
    copy = Fix(message, (cmd("cp", outside, place),), "reinstall-package", undo=(cmd("rm", place),), verify=proof)
    other = f"Upgrade {one.package} to a release that finds the module where it is."
    task = install(on.python, one.package, upgrade=True)
    return copy, Fix(other, (task,), "reinstall-package", verify=proof)


@check(
    title="A GPU package fails to import",
    severity=Severity.WARNING,
    cause="The package, or something that it imports, is incomplete, or of a release that does not fit the others.",
    fixes=_fixes,
    references=(
        "https://docs.python.org/3/reference/import.html",
        "https://github.com/NVIDIA/TransformerEngine/issues/1981",
        "https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1941",
    ),
    targets=pythons,
    only_with=("pythons.imports",),
    caused_by=(
        *(
            "python.*",
            "python.numpy-2",
            "libraries.*",
            "libraries.version-not-found",
            "packages.*",
            "pytorch.*",
            "tensorflow.*",
            "jax.*",
            "cupy.*",
            "environment.variable-refused",
        ),
        *("driver.*", "device.*", "container.*", "wsl.*", "host.*", "rocm.*", "intel.*", "visibility.*", "cuda.*"),
    ),
    affects=("wheels", "extensions"),
    validated_on=("environment 2026-11", "simulated 2026-11"),
)
def import_fails(on: OnPython) -> Problem | None:
    """Its import raises, kills the process, or reports that its compiled part does not load."""
    one = _first(on)
    if one is None:
        if found := _crippled(on):
            return _without_part(on, *found)
        know_all(on.python)
        return None
    failing = (each for each, _ in failures(on.python) if not _of_command(each))
    others = sorted({each.package for each in failing} - {one.package})
    more = f" Imports within {', '.join(others)} fail, too." if others else ""
    name = f"{one.package} {one.version}"
    if one.died:
        message = f"{one.statement} ({name}) crashes with {one.died}.{more}"
        return Problem(message, dying_words(one.stderr), severity=Severity.ERROR, failing=one.package)
    error = "" if isinstance(one.error, Unknown) or one.error is None else one.error
    message = f"{one.statement} fails ({name}): {first_line(error).rstrip('.:')}.{more}"
    if one.later:
        message = f"{name} is imported, but its libraries do not load: {first_line(error).rstrip('.:')}.{more}"
    if one.outside:
        where = f" That module is at {one.outside}, outside of its package."
        return Problem(f"{message.removesuffix(more)}{where}{more}", (error[:1500],), _OUTSIDE, failing=one.package)
    hint, about, row = import_errors.hint(error), blamed(on, one), recognise(first_line(error))
    cause = hint.cause if hint else row.sentence if row else None
    if about and not hint:
        cause = f"The error is about {about.name} {about.version}: {name} was not written for that release."
        if needed := newer_torch_needed(one, about):
            cause = f"{name} uses torch.{needed[0]}, which PyTorch has since {needed[1]}; {about.version} is installed."
    if both := stated(on, one):
        cause = (
            f"{both[0].name} {both[0].version} needs {both[1].name} {both[2]} or newer, which {both[1].version} is not."
        )
    if lacked := lacked_symbol(error):
        cause = _OLD_DRIVER if lacked.of_driver else _OLD_LIBRARY.format(library=lacked.library)
    gone = error.startswith("ModuleNotFoundError") and not one.dependent  # what computes on the GPU cannot be used
    unfit = is_of_interface(one) and one.part is None
    severity = Severity.ERROR if gone or unfit or (is_native(error) and not one.later) else None
    severity = Severity.ADVICE if _of_command(one) else severity
    other = ("cuda.nvvm-missing",) if NO_CUDA.search(error) else ()
    absent = _MODULE.search(error)
    of_no_gpu = absent and not matters(import_errors.distribution_of(absent[1].partition(".")[0]))
    if of_no_gpu or (about and not _OF_BUILDS.search(error)):  # it is there or not, with a GPU as without one
        other = (*other, *_NO_GPU)
    lines = (error[:1500], *[line for line in one.stderr.splitlines() if not _INFORMS.match(line)][-3:])
    return Problem(message, lines, severity=severity, cause=cause, not_caused_by=other, failing=one.package)


def _without_part(on: OnPython, one: PackageImport, row: Survived, error: str) -> Problem:
    message = (
        f"{one.statement} ({one.package} {one.version}) goes on without its compiled library, which does not load: "
        f"{error.rstrip('.')}. Then {row.lost}."
    )
    lines = tuple(line.strip()[:400] for line in one.stderr.splitlines() if line.strip())[:4]
    hint = import_errors.hint(error)
    cause = _SBSA if is_jetson(on.facts) else hint.cause if hint else None
    return Problem(message, lines, cause=cause)
