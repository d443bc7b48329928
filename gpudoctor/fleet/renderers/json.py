"""The summary as one JSON document (`gpudoctor.fleet/1`)."""

from gpudoctor.fleet.summary import Fleet
from gpudoctor.report.sanitize import document


def render(fleet: Fleet) -> str:
    """The document, indented, with a newline at its end."""
    return document(fleet)
