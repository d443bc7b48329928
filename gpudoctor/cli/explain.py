"""`gpudoctor explain`: a check by its id, or a log by what the machine's checks find."""

import argparse
import os
import stat
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpudoctor.cli import FAILED, INCOMPLETE, OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.check import facts_of, judged, machine_of, options_of, source
from gpudoctor.cli.output import out, out_json

if TYPE_CHECKING:
    from io import FileIO

    from gpudoctor.report.model import Report
    from gpudoctor.symptoms import Log

DESCRIPTION = """Explain a check: what it looks for, causes, fixes and references. Or explain a log, a traceback or the
output of a training run: recognize its messages, check this machine, and show the cause that fits both first. Exit
codes with --log: 0 no trouble in the log and none found here, 1 trouble recognized in the log or found here, 3 the
log's error is not known to gpudoctor, or too much is unknown."""
PIECE = 1 << 18
GZIP = b"\x1f\x8b"


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser("explain", help="explain a check, or the error in a log", description=DESCRIPTION)
    one.add_argument("id", metavar="ID", nargs="?", help="a check, such as driver.library-mismatch")
    one.add_argument("--log", metavar="FILE", help="a log or traceback of any size (-: standard input)")
    source(one)
    one.add_argument("--facts", metavar="FILE", help="facts of the machine that wrote the log (-: standard input)")
    one.add_argument(
        "--json", action="store_true", help="print the report, with the log's symptoms, as one JSON document"
    )
    one.add_argument(
        "--verbose",
        "-v",
        action="store_true",
        help="with an ID: also where the check is in the code; with --log: also what was ruled out, and references",
    )
    one.set_defaults(run=run, smoke=False)


def run(arguments: argparse.Namespace) -> int:
    """Explain what was given."""
    if arguments.id is not None and arguments.log is not None:
        raise UsageError("Give a check ID or --log FILE, not both.")
    if arguments.log is not None:
        return _log(arguments)
    if arguments.id is None:
        raise UsageError("Give a check ID (`gpudoctor checks` lists them), or a log with --log FILE.")
    return _check(arguments.id, arguments.verbose)


def _check(id_: str, verbose: bool) -> int:
    """Print one check's page; with `verbose`, where it is in the code, too."""
    from gpudoctor import catalogue
    from gpudoctor.check_pages import check_page
    from gpudoctor.cli.terminal import columns

    every = catalogue.ids()
    wanted = [id_] if id_ in every else catalogue.renamed(id_)
    if not wanted:
        if id_ in {one.split(".")[0] for one in every}:
            raise UsageError(f'"{id_}" is an area: `gpudoctor checks {id_}` lists its checks.')
        if id_.startswith("expect."):
            raise UsageError(f"{id_} is an expectation: its subject names the file and line that define it.")
        hint = catalogue.nearest(id_, every)
        raise UsageError(f'Unknown check "{id_}".{hint}')
    (one,), width = catalogue.load(wanted[:1]), min(columns(), 100)
    out(check_page(one, width))
    if verbose:
        from gpudoctor import check_sources

        out(check_sources.page(one, width))
    return OK


def _log(arguments: argparse.Namespace) -> int:
    """Explain a log by this machine, or by another's facts."""
    from gpudoctor.symptoms import explained, scan

    if arguments.log == "-" == arguments.facts:
        raise UsageError("Only one of log and facts can be standard input.")
    log = scan(pieces(arguments.log))
    facts = facts_of(arguments)
    report, facts, verdicts = judged(None if facts else machine_of(arguments), options_of(arguments, [], []), facts)
    from gpudoctor.privacy import harmless

    report = harmless(explained(report, log, facts, verdicts))
    show(report, arguments.json, arguments.verbose)
    return exit_code(report, log)


def show(report: "Report", json: bool, verbose: bool) -> None:
    """Write the report in the form that was asked for."""
    if json:
        from gpudoctor.report.renderers.json import render as as_json

        out_json(as_json(report))
        return
    from gpudoctor.cli.terminal import colours, columns
    from gpudoctor.report.renderers.symptom_text import render

    out(render(report, columns(), colours(sys.stdout), verbose))


def exit_code(report: "Report", log: "Log") -> int:
    """0 no trouble in the log and none here, 1 some recognised or found, 3 an unknown failure or too little known."""
    reported = [entry for entry in report.symptoms if entry.role != "harmless"]
    if report.failed or any(entry.id or entry.explained_by for entry in reported):
        return FAILED
    return INCOMPLETE if log.failed or report.status == "incomplete" else OK


def pieces(path: str) -> Iterator[bytes]:
    """A log, piece by piece.

    Raises:
        UsageError: it cannot be read, is compressed, or has no end.
    """
    if path == "-" and sys.stdin is None:
        raise UsageError("Standard input is closed: no log to read.")
    try:
        with open(0 if path == "-" else path, "rb", buffering=0, closefd=path != "-") as file:
            if _is_endless(file):
                raise UsageError(f"{path} is an endless device, not a log.")
            first = True
            while piece := file.read(PIECE):
                if first and piece.startswith(GZIP):
                    raise UsageError(f"The log {path} is compressed. Use: `zcat {path} | gpudoctor explain --log -`.")
                first = False
                yield piece
    except OSError as error:
        raise UsageError(f"The log {path} cannot be read: {error.strerror or error}.") from None


def _is_endless(file: "FileIO") -> bool:
    """Whether reading never ends: /dev/zero, /dev/urandom, /dev/kmsg; a terminal and /dev/null have an end."""
    found = os.fstat(file.fileno())
    null = os.stat(os.devnull).st_rdev
    return stat.S_ISCHR(found.st_mode) and found.st_rdev != null and not file.isatty()
