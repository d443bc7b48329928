"""What a user types in place of `gpudoctor` where a shell would not find it, and in place of YOUR_SCRIPT.py."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpudoctor.report.model import FixEntry, Report

NAME = "gpudoctor"


def own_path() -> str | None:
    """The path of this program, where it was started by one and is not on PATH; None: its name is enough."""
    import shutil

    program = sys.argv[0]
    return program if os.path.basename(program) == NAME and "/" in program and not shutil.which(NAME) else None


def typeable(report: "Report") -> "Report":
    """The report with commands of ours that a shell finds."""
    import shlex

    if not any(line.startswith(f"{NAME} ") for line in _lines(report)) or (program := own_path()) is None:
        return report
    own = shlex.quote(program)
    return _mapped(report, lambda line: f"{own}{line[len(NAME) :]}" if line.startswith(f"{NAME} ") else line)


def with_script(report: "Report", argv: "Sequence[str]") -> "Report":
    """The report with the user's own script and its arguments, where commands leave them open.

    Args:
        report: of a program that failed.
        argv: the command line of the program.
    """
    import shlex

    from gpudoctor.tasks.placeholders import SCRIPT

    at = next((number for number, word in enumerate(argv) if word.endswith(".py")), None)
    if at is None or not any(SCRIPT.name in line for line in _lines(report)):
        return report
    script = shlex.join(argv[at:])
    return _mapped(report, lambda line: line.replace(SCRIPT.name, script))


def _lines(report: "Report") -> "Iterator[str]":
    """Every command of the report's fixes."""
    for fixes in (*(one.fixes for one in report.findings), *(one.fixes for one in report.symptoms)):
        for fix in fixes:
            yield from fix.commands


def _mapped(report: "Report", of: "Callable[[str], str]") -> "Report":
    """The report with each command as the function makes it."""
    from msgspec.structs import replace

    def mapped(fixes: "tuple[FixEntry, ...]") -> "tuple[FixEntry, ...]":
        return tuple(replace(fix, commands=tuple(map(of, fix.commands))) for fix in fixes)

    findings = tuple(replace(one, fixes=mapped(one.fixes)) for one in report.findings)
    symptoms = tuple(replace(one, fixes=mapped(one.fixes)) for one in report.symptoms)
    return replace(report, findings=findings, symptoms=symptoms)
