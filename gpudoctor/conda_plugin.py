"""`conda doctor` asks about the GPU too: a health check, loaded by conda only.

The hook: https://docs.conda.io/projects/conda/en/stable/dev-guide/plugins/health_checks.html. conda loads its plugins
whenever it starts, so nothing of gpudoctor is imported before the health check runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from conda.plugins import hookimpl

if TYPE_CHECKING:
    from gpudoctor.report.model import FindingEntry, Report

NAME = "GPU for machine learning (gpudoctor)"
MARKS = {"pass": "✅", "warn": "✅", "fail": "❌", "incomplete": "❌", "no-gpu": "⚪"}


@hookimpl  # type: ignore[untyped-decorator]
def conda_health_checks() -> Iterator[Any]:
    """Offer the health check, by the older or the newer name of its type."""
    from conda.plugins import types

    kind = getattr(types, "CondaHealthCheck", None) or types.CondaHealthChecks
    yield kind(name=NAME, action=health)


def health(prefix: str, verbose: bool = False) -> None:
    """Check the environment, and write the findings to standard output.

    Args:
        prefix: the environment's directory.
        verbose: write the whole report.
    """
    from gpudoctor import CheckOptions
    from gpudoctor.machine import Machine
    from gpudoctor.pipeline import check
    from gpudoctor.probes.python import InterpreterError

    try:
        report = check(Machine(), CheckOptions(pythons=(prefix,)))
    except InterpreterError as error:
        _write(f"No Python was checked: {error}\n")
        return
    if verbose:
        from gpudoctor.report.renderers.text import render

        _write(render(report, verbose=True))
    else:
        _write(report_text(report, prefix))


def report_text(report: Report, prefix: str) -> str:
    """The report in a few lines: what fails or warns, and the first thing to type."""
    found = [entry for entry in report.findings if entry.status in ("fail", "warn")]
    mark = "❌" if report.failed else MARKS[report.status]
    lines = [f"{mark} {_verdict(report, found)}"]
    for entry in found:
        lines += [f"  {entry.status.upper()} {entry.message}"]
        lines += [f"    {command}" for fix in entry.fixes[:1] for command in (fix.commands or (fix.message,))]
    if found or not report.ok:
        lines.append(f"`gpudoctor check --python {prefix}` shows the full report.")
    from gpudoctor.report.sanitize import clean

    return clean("\n".join(lines)) + "\n"


def _verdict(report: Report, found: list[FindingEntry]) -> str:
    if report.status == "no-gpu":
        asked = any(entry.status == "fail" for entry in found)
        return "No GPU found" + (", but something on this machine needs one." if asked else ": nothing to diagnose.")
    if report.status == "incomplete" and not found:
        return "Too little is known about the GPU."
    if found:
        return f"{len(found)} {'problem' if len(found) == 1 else 'problems'} found."
    from gpudoctor.report.counts import no_problems

    return no_problems(bool(report.gpus), bool(report.frameworks), report.summary.passed) + "."


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
