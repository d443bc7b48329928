"""The report as a custom plugin of Kubernetes' node-problem-detector prints it: one line under 80 characters.

The contract: https://github.com/kubernetes/node-problem-detector/blob/master/docs/custom_plugin_monitor.md; its
message is cut off after max_output_length, 80 unless configured.
"""

from gpudoctor.report.model import Report
from gpudoctor.report.renderers.nagios import first

LONGEST = 79
OK, PROBLEM, UNKNOWN = 0, 1, 2


def exit_code(report: Report, fail_on: str = "fail") -> int:
    """The plugin's exit code: 0 OK, 1 a problem, 2 unknown."""
    if report.fails_on(fail_on):
        return PROBLEM
    return OK if report.ok else UNKNOWN


def render(report: Report) -> str:
    """The worst finding in one line."""
    text = first(report)
    return (text if len(text) <= LONGEST else text[: LONGEST - 3].rstrip() + "...") + "\n"
