"""Commands of ours that a report offers, with the options by which their finding was found."""

import argparse
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpudoctor.facts import Facts
    from gpudoctor.report.model import Report


def repeated(command: str, arguments: argparse.Namespace) -> str:
    """A command line of ours with the interpreters and the expectations files that were named.

    Args:
        command: without them; empty: there is none.
        arguments: as they were typed.
    """
    named = [f"--python {shlex.quote(one)}" for one in arguments.python]
    named += [f"--expect {shlex.quote(one)}" for one in getattr(arguments, "expect", ())]
    named += ["--no-expect"] * getattr(arguments, "no_expect", False)
    return " ".join((command, *named)) if command else ""


def runnable_again(report: "Report", facts: "Facts", arguments: argparse.Namespace) -> "Report":
    """The report whose findings name the command that fixes them as they were found; none under another root.

    Args:
        report: on this machine, unmasked.
        facts: that it is about.
        arguments: as they were typed.
    """
    import msgspec

    from gpudoctor.report.fixes import run_line

    here = arguments.root == "/"
    lines = [repeated(run_line(one.check, one.fixes, facts), arguments) if here else "" for one in report.findings]
    findings = (msgspec.structs.replace(one, run=run) for one, run in zip(report.findings, lines, strict=True))
    return msgspec.structs.replace(report, findings=tuple(findings))
