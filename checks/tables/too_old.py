"""The machine's driver or a framework is newer than gpudoctor's tables."""

import re

from gpudoctor.check_engine import Fix, Problem, Severity, check
from gpudoctor.digits import number_of
from gpudoctor.facts import Facts
from gpudoctor.knowledge.drivers import drivers, newest_branch
from gpudoctor.knowledge.kernels import version
from gpudoctor.knowledge.newest import newest
from gpudoctor.maybe import Maybe, known_or, present, text_of
from gpudoctor.queries.driver import driver_version
from gpudoctor.targets import NAMES, machine
from gpudoctor.tasks import cmd, query


def _fixes(_: Facts) -> tuple[Fix, ...]:
    message = "Update gpudoctor, and run the check again."
    verify = query("gpudoctor", "check")
    return (Fix(message, (cmd("pip", "install", "--upgrade", "gpudoctor-cli"),), "reinstall-package", verify=verify),)


def _newer(found: Maybe[str | None], known: str) -> bool:
    """Whether a version is of a later minor release; prereleases and nightlies do not count."""
    public = (known_or(found, None) or "").partition("+")[0]
    if not re.fullmatch(r"[\d.]+(\.post\d+)?", public):
        return False
    return version(public)[:2] > version(known)[:2]


def _frameworks(facts: Facts) -> list[str]:
    last = newest().framework
    found = [f for python in facts.pythons for f in python.frameworks if f.name in last]
    newer = (
        f"{NAMES[f.name]} {present(f.version)} (newest known: {last[f.name]})"
        for f in found
        if _newer(f.version, last[f.name])
    )
    return list(dict.fromkeys(newer))


def _driver(facts: Facts) -> list[str]:
    driver = text_of(driver_version(facts))
    if (number_of(driver.partition(".")[0]) or 0) <= newest_branch():
        return []
    return [f"NVIDIA driver {driver} (newest known branch: {newest_branch()})"]


@check(
    title="Driver or framework is newer than gpudoctor's tables",
    severity=Severity.ADVICE,
    cause="Which driver, GPU and framework versions work together changes with every release, so gpudoctor ships "
    "tables of them. It does not guess about newer versions: checks that need them report unknown.",
    fixes=_fixes,
    references=("https://pypi.org/project/gpudoctor-cli/",),
    targets=machine,
    affects=("everything",),
    validated_on=("table 2026-11",),
)
def too_old(facts: Facts) -> Problem | None:
    """Compare the driver's branch and each framework's minor release with the newest known ones."""
    newer = [*_driver(facts), *_frameworks(facts)]
    if not newer:
        return None
    days = ", ".join(sorted({newest().meta.collected, drivers().meta.collected}))
    return Problem(f"gpudoctor's tables (of {days}) do not know {', '.join(newer)}.")
