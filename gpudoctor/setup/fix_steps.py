"""A finding's fixes as steps: what of them can be run from here, and what a person has to do."""

from gpudoctor.report.model import FindingEntry, FixEntry, Report
from gpudoctor.setup.plan import SetupStep


def step(entry: FindingEntry, fix: FixEntry) -> SetupStep:
    """A fix as a step of the finding's name."""
    return SetupStep(
        id=entry.check,
        group="environment",
        title=fix.message,
        why=entry.cause,
        commands=fix.tasks,
        root=fix.root,
        reboot=fix.needs == "reboot",
        verify=(fix.verify_task,) if fix.verify_task else (),
        undo=fix.undo_tasks,
    )


def finding(report: Report, id_: str | None) -> FindingEntry | None:
    """The finding of this id, or the first root cause that is more than advice without commands; None: none is."""
    if id_ is None:
        found = (f for f in report.findings if f.status != "advice" or any(fix.tasks for fix in f.fixes))
        return next(found, None)
    return next((entry for entry in report.findings if entry.check == id_), None)


def cause_of(report: Report, id_: str) -> FindingEntry | None:
    """The finding of which a problem of this id is a consequence; None: it is none."""
    return next((e for e in report.findings if any(c.check == id_ for c in e.consequences)), None)


def is_mended(report: Report, id_: str) -> bool | None:
    """Whether a check passes now; None: nobody can say."""
    if any(entry.check == id_ or any(c.check == id_ for c in entry.consequences) for entry in report.findings):
        return False
    return None if any(entry.check == id_ for entry in report.unknown) else True
