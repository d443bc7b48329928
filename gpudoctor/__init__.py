"""Finds why a GPU does not work for machine learning, and shows the commands that fix it."""

__version__ = "0.1.0"

TYPE_CHECKING = False  # typing's own would cost its import, and take re.py out of the folder that `python -m` runs in

if TYPE_CHECKING:
    from typing import Any

    from gpudoctor.catalogue import SelectionError as SelectionError
    from gpudoctor.check_engine import Check as Check
    from gpudoctor.check_engine import Fix as Fix
    from gpudoctor.check_engine import Outcome as Outcome
    from gpudoctor.check_engine import Problem as Problem
    from gpudoctor.check_engine import Severity as Severity
    from gpudoctor.check_engine import Verdict as Verdict
    from gpudoctor.expect import ExpectFileError as ExpectFileError
    from gpudoctor.expect.record import RecordError as RecordError
    from gpudoctor.facts import Facts as Facts
    from gpudoctor.facts.facts_file import FactsFileError as FactsFileError
    from gpudoctor.library import check as check
    from gpudoctor.library import gather as gather
    from gpudoctor.library import record as record
    from gpudoctor.library import require as require
    from gpudoctor.library import run as run
    from gpudoctor.library import smoke as smoke
    from gpudoctor.machine import Machine as Machine
    from gpudoctor.maybe import Maybe as Maybe
    from gpudoctor.maybe import Unknown as Unknown
    from gpudoctor.maybe import known as known
    from gpudoctor.pipeline import CheckOptions as CheckOptions
    from gpudoctor.probes.python.choice import InterpreterError as InterpreterError
    from gpudoctor.report.failures import FailuresError as FailuresError
    from gpudoctor.report.model import FindingEntry as FindingEntry
    from gpudoctor.report.model import Report as Report
    from gpudoctor.requirements.evaluate import RequirementError as RequirementError
    from gpudoctor.smoketests.options import ChoiceError as ChoiceError

_HOMES = {
    "gpudoctor.catalogue": ("SelectionError",),
    "gpudoctor.facts.facts_file": ("FactsFileError",),
    "gpudoctor.probes.python.choice": ("InterpreterError",),
    "gpudoctor.pipeline": ("CheckOptions",),
    "gpudoctor.expect.record": ("RecordError",),
    "gpudoctor.expect.file_permissions": ("ExpectFileError",),
    "gpudoctor.facts": ("Facts",),
    "gpudoctor.check_engine": ("Check", "Fix", "Outcome", "Problem", "Severity", "Verdict"),
    "gpudoctor.library": ("check", "gather", "record", "require", "run", "smoke"),
    "gpudoctor.machine": ("Machine",),
    "gpudoctor.maybe": ("Maybe", "Unknown", "known"),
    "gpudoctor.report.failures": ("FailuresError",),
    "gpudoctor.report.model": ("FindingEntry", "Report"),
    "gpudoctor.requirements.evaluate": ("RequirementError",),
    "gpudoctor.smoketests.options": ("ChoiceError",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> "Any":
    """Import a public name when it is first asked for (PEP 562), so that `import gpudoctor` costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOME[name]), name)


def __dir__() -> "list[str]":
    """The public names, whatever was loaded before: what a shell or a notebook completes."""
    return __all__
