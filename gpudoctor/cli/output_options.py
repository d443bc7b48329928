"""In which form a report is written, where to, and what is taken out of it before it leaves the machine."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

import msgspec

from gpudoctor.cli import UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.expect_options import masked_expectations
from gpudoctor.cli.output import complain, out, out_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpudoctor.facts import Facts
    from gpudoctor.pipeline import CheckOptions
    from gpudoctor.report.model import Report

# The names of gpudoctor.report.formats, which is loaded for those who run a command, and not for --help.
NAMES = (
    "text",
    "json",
    "markdown",
    "html",
    "junit",
    "sarif",
    "github",
    "tap",
    "nagios",
    "npd",
    "prometheus",
)
JSONS = ("json", "sarif")  # what ASCII cannot hold is escaped in them, and replaced in the others


class ReportOutput(msgspec.Struct, frozen=True):
    """How the report is written.

    Attributes:
        name: of the format.
        mask: whether names of users and hosts, serial numbers and the like are taken out.
        path: the file; None: standard output.
        verbose: whether the text lists everything.
    """

    name: str
    mask: bool
    path: str | None = None
    verbose: bool = False


def options(one: Parser) -> None:
    """Add the options that say how the report is written."""
    one.add_argument("--json", action="store_true", help="print the report as one JSON document; same as --format json")
    one.add_argument("--format", choices=NAMES, metavar="NAME", help=f"output format: {', '.join(NAMES)}")
    one.add_argument("--output", "-o", metavar="FILE", help="write to a file, atomically (-: standard output)")
    one.add_argument(
        "--mask",
        action=argparse.BooleanOptionalAction,
        help="mask names of users and hosts, home directories, serial numbers and UUIDs (default: in formats made "
        "for sharing, so not in text, json, nagios, npd, prometheus); secrets are always masked",
    )


def chosen(arguments: argparse.Namespace) -> ReportOutput:
    """The form that the arguments choose.

    Raises:
        UsageError: they contradict each other.
    """
    from gpudoctor.report.formats import FORMATS

    if arguments.json and arguments.format not in (None, "json"):
        raise UsageError(f"--json and --format {arguments.format} cannot be used together.")
    name = "json" if arguments.json else arguments.format or "text"
    mask = FORMATS[name].leaves if arguments.mask is None else arguments.mask
    path = None if arguments.output == "-" else arguments.output
    if path == "":
        raise UsageError("--output needs a file name; an unset shell variable gives an empty one.")
    return ReportOutput(name, mask, path, arguments.verbose)


class Leaving(msgspec.Struct, frozen=True):
    """What may leave the machine in a form.

    Attributes:
        report: masked where that was chosen.
        facts: the same; for pictures of the machine.
        text: masks a text of the user's, as an error message that they saw.
    """

    report: "Report"
    facts: "Facts"
    text: "Callable[[str], str]"


def leaving(report: "Report", facts: "Facts", options: "CheckOptions", form: ReportOutput) -> Leaving:
    """What may leave: masked facts are checked again, because a name may stand in any sentence or command."""
    from gpudoctor.privacy.secrets import harmless, without_secrets

    if not form.mask:
        return Leaving(harmless(report), harmless(facts) if form.name == "html" else facts, without_secrets)
    from gpudoctor.pipeline import check
    from gpudoctor.privacy.masks import Masks

    masks = Masks(facts)
    hidden = masks.facts()
    options = masked_expectations(options, facts, masks.text)
    return Leaving(check(None, options, hidden), hidden, masks.text)


def deliver(report: "Report", facts: "Facts", form: ReportOutput) -> None:
    """Write the report: to the file, or to standard output.

    Raises:
        UsageError: it cannot be written.
        OSError: standard output cannot be written to.
    """
    text = rendered(report, facts, form)
    if form.path is not None:
        save(form.path, text)
    else:
        (out_json if form.name in JSONS else out)(text)
    if form.name == "github":
        _summary(report)


def rendered(report: "Report", facts: "Facts", form: ReportOutput) -> str:
    """The report in its form."""
    from gpudoctor.report.formats import FORMATS

    if form.name == "html":
        from gpudoctor.report.renderers.html import render as page

        return page(report, facts)
    if form.name != "text":
        return FORMATS[form.name].render()(report)
    from gpudoctor.cli.terminal import colours, columns
    from gpudoctor.report.renderers.text import render

    if form.path is not None:
        return render(report, verbose=form.verbose)
    return render(report, columns(), colours(sys.stdout), form.verbose)


def save(path: str, text: str) -> None:
    """Write a file whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    from gpudoctor.facts.facts_file import write

    try:
        write(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}.") from None


def _summary(report: "Report") -> None:
    """Append the report as Markdown to the job's summary, where a workflow has one; without it the rest still holds."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    from gpudoctor.report.renderers.markdown import render

    try:
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(render(report))
    except OSError as error:
        complain(f"The job summary {path} cannot be written: {error.strerror or error}.")


def exit_code(report: "Report", form: ReportOutput, fail_on: str) -> int:
    """0 nothing failed, 1 something failed, 3 no GPU or too little known; nagios and npd have their own codes."""
    from gpudoctor.cli import FAILED, INCOMPLETE, OK

    if fail_on == "never":
        return OK
    if form.name == "nagios":
        from gpudoctor.report.renderers import nagios

        return nagios.exit_code(report)
    if form.name == "npd":
        from gpudoctor.report.renderers import npd

        return npd.exit_code(report, fail_on)
    if report.fails_on(fail_on):
        return FAILED
    return OK if report.ok else INCOMPLETE


def of_wrong_usage(words: list[str], sentence: str) -> int:
    """The exit code of wrong usage; a monitoring plugin says UNKNOWN, on standard output, and never CRITICAL.

    Args:
        words: the command line, which could not be read.
        sentence: what is wrong with it.
    """
    from itertools import pairwise

    from gpudoctor.cli import INCOMPLETE, USAGE

    if "--format=nagios" not in words and ("--format", "nagios") not in pairwise(words):
        return USAGE
    from contextlib import suppress

    from gpudoctor.report.renderers.nagios import plain

    with suppress(OSError, UsageError):
        out(f"GPU UNKNOWN - {plain(sentence)}\n")
    return INCOMPLETE
