"""`gpudoctor explain`: a check by its id, or a log by what the machine's checks find."""

import argparse
import codecs
import os
import re
import stat
import sys
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from gpudoctor.cli import FAILED, INCOMPLETE, OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.check import facts_of, is_recorded, judged, machine_of, options_of, source
from gpudoctor.cli.output import out, out_json
from gpudoctor.cli.repeated_options import runnable_again

if TYPE_CHECKING:
    from io import FileIO

    from gpudoctor.check_engine import Check
    from gpudoctor.report.model import RankEntry, Report
    from gpudoctor.symptoms import Log
    from gpudoctor.symptoms.origin import Where

DESCRIPTION = """Explain anything: a check's ID, an area, an error code (803, "Xid 79", "exit 137"), a message, a log (a
file, or - for standard input), or the logs of all ranks of a job (files, or their directory). A message or log is
recognized and this machine is checked: what causes it here and the commands that fix it come first, then what the
message means. Where nothing here explains it, that is said, with what fixes the message elsewhere. A log of another
machine is explained from itself alone."""
PIECE = 1 << 18
LOGS = (".log", ".txt", ".out", ".err")
GZIP = b"\x1f\x8b"
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b"))
_TEXT = 0.95  # random bytes have a tenth, programs more
NOTHING = (
    "Give a check ID (`gpudoctor checks` lists them), an error code, a message, a log file, or - for standard input."
)


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser("explain", help="explain a check, an error or a log", description=DESCRIPTION)
    one.add_argument(
        "what", metavar="ID|AREA|CODE|MESSAGE|FILE|-", nargs="*", help="what to explain; words make one message"
    )
    one.add_argument(
        "--log",
        metavar="FILE",
        nargs="+",
        help="a log or traceback of any size (-: standard input), or the logs of all ranks of a job",
    )
    whose = one.add_mutually_exclusive_group()
    whose.add_argument("--here", action="store_true", help="the log is of this machine, whatever it names")
    whose.add_argument("--elsewhere", action="store_true", help="the log is of another machine: do not check this one")
    source(one)
    one.add_argument("--facts", metavar="FILE", help="facts of the machine that wrote the log (-: standard input)")
    one.add_argument(
        "--json", action="store_true", help="print the report, with the log's symptoms, as one JSON document"
    )
    one.add_argument(
        "--verbose",
        "-v",
        action="store_true",
        help="with an ID: also where the check is in the code; with a log: also what was ruled out, and references",
    )
    one.set_defaults(run=run, smoke=False)


def run(arguments: argparse.Namespace) -> int:
    """Explain what was given."""
    text = " ".join(arguments.what).strip()
    if arguments.what and arguments.log is not None:
        raise UsageError("Give what to explain or --log FILE, not both.")
    if arguments.log is not None:
        return _logs(arguments, arguments.log)
    if not text:
        raise UsageError(NOTHING)
    if (code := named(text, arguments.verbose, arguments)) is not None:
        return code
    paths = arguments.what if all(map(os.path.exists, arguments.what)) else [text]  # `explain run/*.log`
    return _logs(arguments, paths) if all(map(_is_path, paths)) else _message(arguments, text)


def _is_path(text: str) -> bool:
    """Whether it is a log's path; where it only looks like one, opening it fails."""
    return text == "-" or os.path.exists(text) or ("/" in text and " " not in text) or text.endswith(LOGS)


def named(text: str, verbose: bool, arguments: argparse.Namespace | None = None) -> int | None:
    """Print what a name stands for, a check, another ID or an area, before a file of that name; None where it is none.

    Args:
        text: the name.
        verbose: print where a check is in the code, too.
        arguments: the machine that the check is asked about; None: of none.

    Raises:
        UsageError: it is an ID that is not there.
    """
    from gpudoctor import catalogue
    from gpudoctor.cli.other_ids import other_page
    from gpudoctor.cli.terminal import columns

    every = catalogue.ids()
    if text in every:
        return _check(text, verbose, arguments)
    if page := other_page(text, min(columns(), 100)):
        out(page)
        return OK
    areas = {one.split(".")[0] for one in every}
    if text in areas:
        from gpudoctor.cli import checks

        return checks.show([text])
    if re.fullmatch(r"[a-z][a-z0-9-]*\.[a-z][a-z0-9-]*", text) is None or os.path.exists(text) or text.endswith(LOGS):
        return None
    if former := catalogue.renamed(text):
        return _check(former[0], verbose, arguments)
    if text.partition(".")[0] in areas:
        raise UsageError(f'Unknown check "{text}".{catalogue.nearest(text, every)}')
    return None


def _check(id_: str, verbose: bool, arguments: argparse.Namespace | None) -> int:
    """Print one check's page, what it reports on the machine above; with `verbose`, where it is in the code, too."""
    from gpudoctor import catalogue
    from gpudoctor.check_pages import check_head, check_page
    from gpudoctor.cli.terminal import columns

    (one,), width = catalogue.load([id_]), min(columns(), 100)
    out(check_head(one, width))
    printed = False
    if arguments and not arguments.elsewhere:
        sys.stdout.flush()  # it is read while the machine is checked
        printed = _reported(arguments, one)
    out(f"\n{check_page(one, width, printed)}")
    if verbose:
        from gpudoctor import check_sources

        out(check_sources.page(one, width))
    return OK


def _reported(arguments: argparse.Namespace, one: "Check[Any]") -> bool:
    """Print what a check reports on the machine; whether that has its fixes.

    Frameworks are imported only for a check that looks at them.
    """
    import msgspec

    from gpudoctor import single_check
    from gpudoctor.check_engine import MACHINE
    from gpudoctor.cli.terminal import colours, columns
    from gpudoctor.report.grouping import alike
    from gpudoctor.report.renderers.text import console, finding, labelled, written

    given, options = facts_of(arguments), options_of(arguments, [one.id], [])
    quick = msgspec.structs.replace(options, quick=True)
    report, facts, _ = judged(None if given else machine_of(arguments), quick, given)
    if not given and not options.quick and single_check.wants_more(one, facts):
        report, _, _ = judged(machine_of(arguments), options)
    page, where = console(columns(), colours(sys.stdout)), "Here" if given is None else "There"
    for entry, *others in alike(report.findings):  # what the page has already is left out
        title = where if entry.subject == MACHINE.label else f"{where}, {entry.subject}"
        shown = msgspec.structs.replace(entry, title=title, cause="", references=(), check="")
        finding(page, shown, others, False, False)
    if not report.findings:
        unknown = "; ".join(dict.fromkeys(entry.reason for entry in report.unknown))
        page.print()
        labelled(page, where.lower(), _ended(report.summary.passed, unknown))
    out(written(page))
    return any(entry.fixes for entry in report.findings)


def _ended(passed: int, unknown: str) -> str:
    """How a check without a problem ended."""
    if unknown:
        return f"Unknown: {unknown}"
    return "No problem: the check passed." if passed else "Does not apply to this machine."


def _message(arguments: argparse.Namespace, text: str) -> int:
    """Explain a message or a code that somebody met on this machine.

    Raises:
        UsageError: it is one unknown word, and a check has nearly that name.
    """
    from gpudoctor import catalogue
    from gpudoctor.cli.other_ids import message_page
    from gpudoctor.cli.terminal import columns
    from gpudoctor.symptoms import log_of
    from gpudoctor.symptoms.lookup import messages

    known = messages(text)
    if len(known) > 1:
        out(f'"{text}" can be:\n' + "".join(f'  gpudoctor explain "{one}"\n' for one in known))
        return OK
    log = log_of(known[0] if known else text)
    unknown = not (log.hits or log.harmless)
    if unknown and (page := message_page(text, min(columns(), 100))):
        out(page)
        return OK
    if unknown and " " not in text and "Did you mean" in (hint := catalogue.nearest(text, catalogue.ids())):
        raise UsageError(f'Unknown check "{text}".{hint}')
    near = catalogue.search(text, 20) if unknown else ()  # those that cannot be about this machine are left out later
    return _explain(arguments, log, near)


def _logs(arguments: argparse.Namespace, paths: list[str]) -> int:
    """Explain a log, or the logs of a job's ranks together, by this machine or by another's facts."""
    from gpudoctor.symptoms import scan

    if "-" in paths and arguments.facts == "-":
        raise UsageError("Only one of log and facts can be standard input.")
    if len(paths) > 1 or os.path.isdir(paths[0]):
        return _ranks(arguments, paths)
    name, read = "Standard input" if paths[0] == "-" else f"The log {paths[0]}", pieces(paths[0])
    first = next(read, b"")
    if not first:
        raise UsageError(f"{name} is empty.")
    log = scan(chain((first,), read))
    if not (log.hits or log.harmless or log.failed or _is_text(first)):
        raise UsageError(f"{name} is not text.")
    return _explain(arguments, log)


def _is_text(piece: bytes) -> bool:
    """Whether few of its bytes are control characters: a log may hold some, and one in UTF-16 begins with its mark."""
    if piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    return len(piece.translate(None, _CONTROLS)) > len(piece) * _TEXT


def _ranks(arguments: argparse.Namespace, paths: list[str]) -> int:
    """Explain the logs of a job's ranks together, with the flight recorder's dumps next to them."""
    from gpudoctor.symptoms import flight_recorder, ranks, scan

    inside = {path: _files(path) for path in paths if os.path.isdir(path)}
    given = [path for path in paths if path not in inside]
    near = [*inside.values(), *map(_files, dict.fromkeys(os.path.dirname(path) or "." for path in given))]
    dumps = {os.path.normpath(path) for files in near for path in files if flight_recorder.is_dump(path)}
    logs = [path for files in inside.values() for path in files if path.endswith(LOGS)]
    logs = [path for path in (*given, *logs) if os.path.normpath(path) not in dumps]
    if not logs:
        raise UsageError(f"No logs in {paths[0]}.")
    read = ranks.ranked([(path, scan(pieces(path))) for path in logs])
    found = ranks.entries(read)
    said = (*ranks.sentence(found), *flight_recorder.sentences(flight_recorder.dumps(sorted(dumps))))
    return _explain(arguments, ranks.decisive(read, found), ranks=found, details=said)


def _files(folder: str) -> list[str]:
    """The files of a directory, in order; [] where it cannot be read."""
    try:
        return sorted(one.path for one in os.scandir(folder) if one.is_file())
    except OSError:
        return []


def _explain(
    arguments: argparse.Namespace,
    log: "Log",
    near: tuple[str, ...] = (),
    ranks: "tuple[RankEntry, ...]" = (),
    details: tuple[str, ...] = (),
) -> int:
    """Show what was recognised next to what is found on the machine; for an unknown message, what is near."""
    from gpudoctor.check_engine import Outcome
    from gpudoctor.facts import Facts
    from gpudoctor.privacy.secrets import harmless
    from gpudoctor.symptoms import explained, with_shown

    facts = Facts() if arguments.elsewhere else facts_of(arguments)
    where: Where | None = "elsewhere" if arguments.elsewhere else None
    if arguments.here or (log.asked and where is None) or (facts and where is None):
        where = "here"
    report, facts, verdicts = judged(None if facts else machine_of(arguments), options_of(arguments, [], []), facts)
    if (shown := with_shown(facts, log, where)) is not facts and not arguments.elsewhere:
        report, facts, verdicts = judged(None, options_of(arguments, [], []), shown)
    recorded = is_recorded(arguments)
    if not recorded:
        report = runnable_again(report, facts, arguments)
    from gpudoctor.cli.own_path import typeable

    report = typeable(harmless(explained(report, log, facts, verdicts, where, ranks, details, recorded)))
    show(report, arguments.json, arguments.verbose)
    asked = {verdict.check.id for verdict in verdicts if verdict.outcome is not Outcome.SKIPPED}
    near = tuple(one for one in near if arguments.elsewhere or one.partition(":")[0] in asked)[:5]
    if near and not arguments.json:
        out("\nChecks that may be about it:\n" + "".join(f"  {one}\n" for one in near))
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
    elsewhere = report.log_origin is not None and report.log_origin.where == "elsewhere"
    if (report.failed and not elsewhere) or any(entry.id or entry.explained_by for entry in reported):
        return FAILED
    return INCOMPLETE if log.failed or (report.status == "incomplete" and not elsewhere) else OK


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
