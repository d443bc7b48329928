"""The formats of a report: their names, who reads them, and where each is written."""

from collections.abc import Callable

import msgspec

from gpudoctor.report.model import Report


class ReportFormat(msgspec.Struct, frozen=True):
    """One format.

    Attributes:
        name: as `--format` takes it; its module is gpudoctor.report.NAME.
        reader: who reads it.
        leaves: whether it is made to be handed on: then names of users and hosts are masked unless one says otherwise.
    """

    name: str
    reader: str
    leaves: bool = False

    def render(self) -> Callable[[Report], str]:
        """What writes it."""
        from importlib import import_module

        function: Callable[[Report], str] = import_module(f"gpudoctor.report.renderers.{self.name}").render
        return function


FORMATS = {
    one.name: one
    for one in (
        ReportFormat("text", "a terminal"),
        ReportFormat("json", "programs: gpudoctor.report/1"),
        ReportFormat("markdown", "an issue tracker", leaves=True),
        ReportFormat("html", "a browser", leaves=True),
        ReportFormat("junit", "continuous integration (CI)", leaves=True),
        ReportFormat("sarif", "code scanning", leaves=True),
        ReportFormat("github", "GitHub Actions workflows", leaves=True),
        ReportFormat("tap", "test harnesses", leaves=True),
        ReportFormat("nagios", "Nagios, Icinga, Naemon, Sensu"),
        ReportFormat("npd", "Kubernetes node-problem-detector"),
        ReportFormat("prometheus", "node_exporter textfile collector"),
    )
}
