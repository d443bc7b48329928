"""The report as one JSON document."""

from gpudoctor.report.model import Report
from gpudoctor.report.sanitize import document


def render(report: Report) -> str:
    """The document, indented, with a newline at its end."""
    return document(report)
