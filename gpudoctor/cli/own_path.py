"""What is typed for `gpudoctor` where a shell would not find it: the path by which it was started."""

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudoctor.report.model import FixEntry, Report

NAME = "gpudoctor"


def own_path() -> str | None:
    """The path of this program, where it was started by one and is not on PATH; None: its name is enough."""
    import shutil

    program = sys.argv[0]
    return program if os.path.basename(program) == NAME and "/" in program and not shutil.which(NAME) else None


def typeable(report: "Report") -> "Report":
    """The report with commands of ours that a shell finds."""
    from msgspec.structs import replace

    every = [*(one.fixes for one in report.findings), *(one.fixes for one in report.symptoms)]
    lines = (line for fixes in every for fix in fixes for line in fix.commands)
    if not any(line.startswith(f"{NAME} ") for line in lines) or (program := own_path()) is None:
        return report
    findings = tuple(replace(one, fixes=_by_path(one.fixes, program)) for one in report.findings)
    symptoms = tuple(replace(one, fixes=_by_path(one.fixes, program)) for one in report.symptoms)
    return replace(report, findings=findings, symptoms=symptoms)


def _by_path(fixes: "tuple[FixEntry, ...]", program: str) -> "tuple[FixEntry, ...]":
    import shlex

    from msgspec.structs import replace

    def of(line: str) -> str:
        return f"{shlex.quote(program)}{line[len(NAME) :]}" if line.startswith(f"{NAME} ") else line

    return tuple(replace(fix, commands=tuple(map(of, fix.commands))) for fix in fixes)
