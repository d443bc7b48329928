"""The report as one JSON document."""

import msgspec

from gpudoctor.report.clean import clean_json
from gpudoctor.report.model import Report


def render(report: Report) -> str:
    """The document, indented, with a newline at its end."""
    return clean_json(msgspec.json.format(msgspec.json.encode(report), indent=2)).decode() + "\n"
