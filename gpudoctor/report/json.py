"""The report as one JSON document."""

from gpudoctor.report.clean import document
from gpudoctor.report.model import Report


def render(report: Report) -> str:
    """The document, indented, with a newline at its end."""
    return document(report)
