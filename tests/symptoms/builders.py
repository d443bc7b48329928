"""Findings for tests of symptoms."""

from gpudoctor.report.model import Consequence, FindingEntry


def finding(check: str, *consequences: str, status: str = "fail", message: str = "S.") -> FindingEntry:
    """A finding of a check, with what follows from it."""
    return FindingEntry(
        check=check,
        status=status,
        subject="this machine",
        title=f"Title of {check}",
        message=message,
        cause="C.",
        consequences=tuple(Consequence(check=c, message="S.") for c in consequences),
    )
