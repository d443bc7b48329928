"""`gpudoctor bundle FILE.tar.gz`: what somebody needs who helps from afar, in one file."""

import argparse
import os

from gpudoctor.cli import OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.check import facts_of, machine_of, options_of, report_and_facts, source
from gpudoctor.cli.output import out

DESCRIPTION = """Check this machine and pack facts, report, kernel log lines and tool versions for a bug report. Names
of users and hosts, home directories, serial numbers, UUIDs and secrets are masked. Only you can read the file; review
it before you share it."""
ENDINGS = (".tar.gz", ".tgz")


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    one = commands.add_parser("bundle", help="pack facts and report for a bug report", description=DESCRIPTION)
    one.add_argument("file", metavar="FILE.tar.gz", help="the file to write; an existing file is kept")
    source(one)
    one.add_argument("--facts", metavar="FILE", help="pack facts written by `gpudoctor facts` (-: standard input)")
    one.add_argument("--smoke", action="store_true", help="also run the quick smoke tests")
    one.add_argument("--force", action="store_true", help="replace an existing file (but not a link)")
    one.add_argument(
        "--no-mask", action="store_true", help="keep names, paths and serial numbers; secrets are masked anyway"
    )
    one.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Examine, pack and say what is in it."""
    _must_be_free(arguments.file, arguments.force)
    facts = facts_of(arguments)
    options = options_of(arguments, [], [])
    report, facts = report_and_facts(None if facts else machine_of(arguments, arguments.smoke), options, facts)
    from gpudoctor.cli.bundle_archive import FOLDER, archive, parts
    from gpudoctor.cli.output_options import ReportOutput, leaving
    from gpudoctor.facts.facts_file import write
    from gpudoctor.privacy.secrets import harmless

    left = leaving(report, facts, options, ReportOutput("json", not arguments.no_mask))
    packed = parts(harmless(left.facts), left.report)
    data = archive(packed, left.facts.created)
    _must_be_free(arguments.file, arguments.force)  # again: the examination took its time
    try:
        write(arguments.file, data, 0o600)
    except OSError as error:
        raise UsageError(f"{arguments.file} cannot be written: {error.strerror or error}.") from None
    masked = "not masked" if arguments.no_mask else "masked"
    lines = [f"{arguments.file}: {len(data)} bytes, readable only by you; names, paths and serial numbers {masked}."]
    lines += [f"  {FOLDER}/{one.name:<14}{len(one.text.encode('utf-8', 'replace')):>9}  {one.holds}" for one in packed]
    out("\n".join([*lines, "Review it before you share it.", ""]))
    return OK


def _must_be_free(path: str, force: bool) -> None:
    """Hold that nothing is lost, and that no link of somebody else's chooses where we write.

    Raises:
        UsageError: it is not so.
    """
    if not path.endswith(ENDINGS):
        raise UsageError(f"{path}: a bundle's name must end in .tar.gz.")
    if os.path.islink(path):
        raise UsageError(f"{path} is a link; links are not followed.")
    if os.path.lexists(path):
        if not os.path.isfile(path):
            raise UsageError(f"{path} is not a file.")
        if not force:
            raise UsageError(f"{path} already exists; --force replaces it.")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise UsageError(f"{path} cannot be written: no such directory: {folder}.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{path} cannot be written: permission denied: {folder}.")
