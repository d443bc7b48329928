"""The report as workflow commands of GitHub Actions: one annotation for each finding.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands. The job's summary is the report in
Markdown, appended to the file that GITHUB_STEP_SUMMARY names.
"""

from gpudoctor.report.model import Report
from gpudoctor.report.sanitize import clean
from gpudoctor.report.test_cases import failure_text

COMMANDS = {"fail": "error", "warn": "warning", "advice": "notice"}


def render(report: Report) -> str:
    """The annotations; unknowns that matter are notices."""
    lines = [_command(COMMANDS[f.status], f"{f.check}: {f.title}", failure_text(f)) for f in report.findings]
    lines += [
        _command("notice", f"{one.check} is unknown", one.reason)
        for one in report.unknown
        if one.essential or one.broken
    ]
    return "".join(f"{line}\n" for line in lines)


def _command(name: str, title: str, message: str) -> str:
    return f"::{name} title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
