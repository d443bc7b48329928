"""The formats of a report: their names, who reads them, and where each is written."""

from collections.abc import Callable
from typing import NamedTuple

from gpudoctor.report.model import Report


class Format(NamedTuple):
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

        function: Callable[[Report], str] = import_module(f"gpudoctor.report.{self.name}").render
        return function


FORMATS = {
    one.name: one
    for one in (
        Format("text", "a person at a terminal"),
        Format("json", "programs: gpudoctor.report/1"),
        Format("markdown", "an issue tracker", leaves=True),
        Format("html", "a person in a browser", leaves=True),
        Format("junit", "continuous integration", leaves=True),
        Format("sarif", "code scanning", leaves=True),
        Format("github", "a workflow of GitHub Actions", leaves=True),
        Format("tap", "test harnesses", leaves=True),
        Format("nagios", "Nagios, Icinga, Naemon, Sensu"),
        Format("npd", "Kubernetes' node-problem-detector"),
        Format("prometheus", "node_exporter's textfile collector"),
    )
}
