"""PyTorch whose process dies of a signal."""

from functools import partial

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.fixes.imports import outside
from gpudoctor.fixes.python import reinstall_torch
from gpudoctor.queries.cause_groups import SYSTEM
from gpudoctor.queries.frameworks import crash
from gpudoctor.targets import OnLive, lives


def _fixes(on: OnLive) -> tuple[Fix, ...]:
    return outside(on.live) or reinstall_torch(on.facts, on.python, on.framework)


@check(
    title="PyTorch crashes",
    severity=Severity.ERROR,
    cause="A library of another version, or a damaged one, is loaded into the process.",
    fixes=_fixes,
    references=("https://docs.python.org/3/library/faulthandler.html",),
    targets=partial(lives, name="torch"),
    caused_by=(*SYSTEM, "python.*", "python.numpy-2", "libraries.*", "packages.*", "host.*"),
    affects=("wheels",),
    validated_on=("table 2026-11",),
)
def import_crashes(on: OnLive) -> Problem | None:
    """The child died of a signal."""
    return crash(on)
