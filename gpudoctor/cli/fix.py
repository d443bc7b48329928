"""`gpudoctor fix`: shows the fix of a finding, carries it out after a yes, and asks the check again."""

import argparse
import os
from typing import TYPE_CHECKING

from gpudoctor.cli import OK, UsageError
from gpudoctor.cli.arguments import Parser
from gpudoctor.cli.confirm import DECLINED, NOT_HERE, STEP_FAILED
from gpudoctor.cli.output import complain, out

if TYPE_CHECKING:
    from gpudoctor.report.model import FindingEntry, FixEntry, Report
    from gpudoctor.setup.journal import Journal, JournalEntry
    from gpudoctor.setup.plan import SetupStep

DESCRIPTION = """Fix a finding of `gpudoctor check`: show its fix, run it after you confirm, then run the check again.
Without an ID, the first finding. Commands that need root run only with --with-root; those that need your shell or your
input are left to you. Everything that runs is recorded in a journal."""


def add(commands: "argparse._SubParsersAction[Parser]") -> None:
    """Add the command to the parser."""
    from gpudoctor.cli.check import python_option, timeout_option

    one = commands.add_parser("fix", help="apply a fix (asks first)", description=DESCRIPTION)
    one.add_argument("id", nargs="?", metavar="ID", help="the finding's ID, as in `gpudoctor check`")
    one.add_argument("--undo", action="store_true", help="undo the last run of fix or setup")
    one.add_argument("--choice", type=int, default=1, metavar="N", help="apply the Nth fix (default: 1)")
    one.add_argument("--yes", "-y", action="store_true", help="do not ask for confirmation")
    one.add_argument("--with-root", action="store_true", help="also run commands that need root")
    one.add_argument("--quick", action="store_true", help="do not import frameworks: a second or less")
    python_option(one)
    timeout_option(one, "150")
    one.set_defaults(run=run, root="/", facts=None, smoke=False, only=[], skip=[])


def run(arguments: argparse.Namespace) -> int:
    """Fix, or undo; gives the exit code."""
    from gpudoctor.setup.journal import JournalError

    try:
        return _undo(arguments) if arguments.undo else _fix(arguments)
    except JournalError as error:
        complain(str(error))
        return STEP_FAILED


def _fix(arguments: argparse.Namespace) -> int:
    from gpudoctor.setup.fix_steps import cause_of, finding

    id_ = _known(arguments.id) if arguments.id else None
    report = _examined(arguments, id_)
    entry = finding(report, id_)
    if entry is None:
        if id_ is None:
            out("No problems to fix.\n")
            return OK
        cause = cause_of(report, id_)
        more = f" Another finding causes it: `gpudoctor fix {cause.check}`." if cause else ""
        complain(f"{id_} has nothing to fix on this machine.{more}")
        return NOT_HERE
    if not 1 <= arguments.choice <= len(entry.fixes):
        complain(f"There is no fix {arguments.choice}: {entry.check} has {len(entry.fixes)} here.")
        return NOT_HERE
    return _carried_out(arguments, entry, entry.fixes[arguments.choice - 1])


def _known(id_: str) -> str:
    """The id of a check, under its present name.

    Raises:
        UsageError: there is none.
    """
    from gpudoctor import catalogue

    every = catalogue.ids()
    try:
        found = catalogue.select(every, (id_,), ())
    except catalogue.SelectionError:
        raise UsageError(f'Unknown check "{id_}".{catalogue.nearest(id_, every)}') from None
    if len(found) > 1:
        raise UsageError(f'"{id_}" is an area: give the ID of one finding, as `gpudoctor check` shows it.')
    return found[0]


def _examined(arguments: argparse.Namespace, id_: str | None) -> "Report":
    """The report of all checks, or of the one that is meant where it runs only on request."""
    from gpudoctor.areas import on_request
    from gpudoctor.cli.check import machine_of, options_of, report_and_facts

    only = [id_] if id_ and on_request(id_) else []
    return report_and_facts(machine_of(arguments), options_of(arguments, only, []))[0]


def _carried_out(arguments: argparse.Namespace, entry: "FindingEntry", fix: "FixEntry") -> int:
    from gpudoctor.cli import confirm
    from gpudoctor.setup.executor import carry, runnable
    from gpudoctor.setup.exporters.common import quiet
    from gpudoctor.setup.fix_steps import step
    from gpudoctor.setup.journal import Journal, place
    from gpudoctor.setup.plan import Plan

    made = step(entry, fix)
    _show(entry, fix)
    if why := _why_not(entry, fix, runnable(made, arguments.with_root)):
        complain(f"Nothing was run: {why}")
        return DECLINED
    if arguments.yes:
        made = quiet(Plan(steps=(made,))).steps[0]
    if fix.impact in ("irreversible", "data loss"):
        complain(f"Careful: {fix.impact}.")
    if not confirm.agreed("Run these commands now?", arguments.yes):
        return DECLINED
    journal = Journal(place(os.environ))
    ask = confirm.installed
    ended = carry((made,), confirm.run, journal, confirm.tell, f"fix {entry.check}", verify=False, ask=ask)
    if ended.failed:
        confirm.failed(ended)
        if ended.changed:
            _asked_again(arguments, entry, fix, whole=False)
        return STEP_FAILED
    return _asked_again(arguments, entry, fix)


def _why_not(entry: "FindingEntry", fix: "FixEntry", runs: bool) -> str:
    """Why a fix that was just shown cannot be run from here, as the end of a sentence; empty: it can."""
    from gpudoctor.cli import confirm
    from gpudoctor.report.fixes import can_carry
    from gpudoctor.tasks import is_lookup, placeholders_of

    if not can_carry(fix.tasks, fix.place):
        blanks = {one.name: one.means for task in fix.tasks for one in placeholders_of(task)}
        if not fix.tasks:
            why = "this step is manual."
        elif fix.place == "outside":
            why = "do this outside, where the container or job is started."
        elif all(map(is_lookup, fix.tasks)):
            why = "these commands only inspect, and fix nothing."
        elif blanks:
            named = " and ".join(f"{name} ({means})" for name, means in blanks.items())
            why = f"replace {named} in these commands, and run them yourself."
        else:
            why = "these commands need your own shell or editor: type them yourself."
        return f"{why} What can be run from here: `{entry.run}`" if entry.run else why
    if fix.root and confirm.lacks_sudo():
        return "root is required and sudo is not available. Run gpudoctor as root."
    place = entry.fixes.index(fix) + 1
    again = f"gpudoctor fix {entry.check}{f' --choice {place}' if place > 1 else ''} --with-root"
    return "" if runs else f"root is required. Re-run with --with-root: `{again}`"


def _asked_again(arguments: argparse.Namespace, entry: "FindingEntry", fix: "FixEntry", whole: bool = True) -> int:
    """Run the check again: it decides whether the problem is fixed, not the command.

    Args:
        arguments: of the command line.
        entry: the finding.
        fix: what ran.
        whole: whether all of its steps did.
    """
    from gpudoctor.report.fixes import what_follows
    from gpudoctor.setup.fix_steps import is_mended

    repaired = is_mended(_examined(arguments, entry.check), entry.check)
    if repaired:
        out(f"Fixed: {entry.check} passes.\n")
        return OK
    if fix.needs and whole:
        after = what_follows(fix.needs)
        out(f"Done. It takes effect after {after}. Then verify: `gpudoctor check --only {entry.check}`\n")
        return OK
    message = "it is unknown whether it helped" if repaired is None else "the check still fails"
    ran = "The fix ran" if whole else "The fix ran in part"
    complain(f"{ran}, but {message}: `gpudoctor check --only {entry.check}`")
    return STEP_FAILED


def _show(entry: "FindingEntry", fix: "FixEntry") -> None:
    """The finding with one of its fixes."""
    import sys

    import msgspec

    from gpudoctor.cli.terminal import colours, columns
    from gpudoctor.report.renderers.text import console, finding, written

    shown = msgspec.structs.replace(entry, fixes=(fix,))
    page = console(columns(), colours(sys.stdout))
    finding(page, shown, [], False, False, hint=False)
    out(written(page))
    sys.stdout.flush()


def _undo(arguments: argparse.Namespace) -> int:
    """Take back the last run, its last step first."""
    from gpudoctor.cli import confirm
    from gpudoctor.report.sanitize import clean
    from gpudoctor.setup import undo
    from gpudoctor.setup.executor import runnable
    from gpudoctor.setup.journal import Journal, directory, place

    if arguments.id:
        raise UsageError("--undo undoes the last run and takes no ID.")
    journal = Journal(place(os.environ))
    last = journal.last()
    if last is None:
        complain("Nothing to undo: the journal has no run that can be undone.")
        return NOT_HERE
    run_, what, entries = last
    step, by_hand = undo.step(entries, confirm.installed)
    begun = next((entry for entry in entries if entry.event == "begin"), None)
    _say_undo(f"{what}{_of_run(begun)}", step, by_hand)
    if not step.commands:
        journal.write("left", what=run_)
        return DECLINED
    if not runnable(step, arguments.with_root) or (step.asks_root and confirm.lacks_sudo()):
        complain("Nothing was run: root is required. Run the commands yourself, or use --with-root.")
        return DECLINED
    if arguments.yes and begun and begun.path and begun.path != directory():
        complain(f"Nothing was run: that run was started in {clean(begun.path)}. Use --yes there, or leave it out.")
        return DECLINED
    if not confirm.agreed("Undo it now?", arguments.yes):
        return DECLINED
    return _taken_back(journal, run_, step)


def _of_run(begun: "JournalEntry | None") -> str:
    """When and where a run was started, as part of a sentence."""
    if begun is None:
        return ""
    at = begun.at.replace("T", " ").replace("+00:00", " UTC")
    return f" ({at}{f', in {begun.path}' if begun.path else ''})"


def _say_undo(what: str, step: "SetupStep", by_hand: tuple[str, ...]) -> None:
    from gpudoctor.report.sanitize import clean
    from gpudoctor.setup.executor import is_root
    from gpudoctor.tasks.as_typed import typed

    out(f"The last run: {clean(what)}\n")
    for text in typed(step.commands, sudo=not is_root()):
        out(f"  {clean(text)}\n")
    for text in by_hand:
        out(f"Manual step: {clean(text)}\n")
    if not step.commands:
        complain("Nothing was run: this run cannot be undone. The next --undo applies to the run before it.")


def _taken_back(journal: "Journal", run_: str, step: "SetupStep") -> int:
    from gpudoctor.cli import confirm
    from gpudoctor.setup.executor import carry

    ended = carry((step,), confirm.run, journal, confirm.tell, "undo", verify=False, ask=confirm.installed)
    if ended.failed:
        confirm.failed(ended)
        return STEP_FAILED
    journal.write("undone", what=run_)
    out("Undone.\n")
    return OK
