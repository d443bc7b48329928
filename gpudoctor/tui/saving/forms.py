"""The forms in which a report is saved, without what names a person or a machine."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import NamedTuple

from gpudoctor.facts import Facts
from gpudoctor.pipeline import CheckOptions, check
from gpudoctor.report.model import Report

WIDE = 100  # columns of the picture


class SaveFormat(NamedTuple):
    """One form.

    Attributes:
        name: for people.
        suffix: of the file's name.
        purpose: what it is good for.
        render: the report, and the facts that it rests on, as the file's content.
    """

    name: str
    suffix: str
    purpose: str
    render: Callable[[Report, Facts], str]

    @property
    def file(self) -> str:
        """The name that is proposed."""
        return f"./gpudoctor-report.{self.suffix}"


def masked_report(facts: Facts, options: CheckOptions) -> tuple[Report, Facts]:
    """The report on a machine whose names, home directories, serial numbers and tokens are masked, and its facts.

    The masked facts are judged again, because a name may be anywhere in a sentence or a command of the report.
    """
    from gpudoctor.privacy.masks import masked

    hidden = masked(facts)
    return check(None, options, hidden), hidden


def _json(report: Report, _: Facts) -> str:
    from gpudoctor.report.renderers.json import render

    return render(report)


def _markdown(report: Report, _: Facts) -> str:
    from gpudoctor.report.renderers.markdown import render

    return render(report)


def _html(report: Report, facts: Facts) -> str:
    from gpudoctor.report.renderers.html import render

    return render(report, facts)


def _svg(report: Report, _: Facts) -> str:
    """The text report as a picture."""
    from rich.console import Console
    from rich.text import Text

    from gpudoctor.report.renderers.text import render

    console = Console(file=StringIO(), record=True, width=WIDE, color_system="standard", force_terminal=True)
    console.print(Text.from_ansi(render(report, WIDE, colour=True)), soft_wrap=False)
    return console.export_svg(title="gpudoctor")


FORMS = (
    SaveFormat("JSON", "json", "for programs and later comparisons", _json),
    SaveFormat("Markdown", "md", "to paste into an issue", _markdown),
    SaveFormat("HTML", "html", "a single page to read or share", _html),
    SaveFormat("SVG", "svg", "an image for a web page or a chat", _svg),
)
