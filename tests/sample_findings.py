"""What each check reports on machines of the tests, for its page in docs/checks: docs/generate.py writes them.

Whole machines (tests/machines) come before the rows of tests/checks, and machines whose fixes differ before others.
"""

import functools
import re
from collections import defaultdict
from typing import NamedTuple

from gpudoctor.check_engine import Outcome, run
from gpudoctor.facts import Facts
from gpudoctor.pipeline import check
from gpudoctor.report.build import entry_of
from gpudoctor.report.model import FindingEntry
from tests.checks.rows import problems
from tests.machines.registry import machines

MOST = 3  # machines on a page
LONGEST = 40  # lines of commands: longer ones fill a page and teach no more
PLATFORMS = {"vm": "virtual machine", "wsl": "WSL", "jetson": "Jetson", "dgx-spark": "DGX Spark", "laptop": "laptop"}
# Their fixes depend on what manages the environment.
OF_PYTHON = re.compile(r"\b(?:pip|uv|conda|mamba|poetry|pixi)\b")


class SampleFinding(NamedTuple):
    """A finding, and the machine that it is of in a few words."""

    machine: str
    entry: FindingEntry


@functools.cache
def samples() -> dict[str, tuple[SampleFinding, ...]]:
    """Of each check by its id: up to three findings."""
    found: dict[str, list[SampleFinding]] = defaultdict(list)
    for one in machines():
        facts = one.make()
        for entry in check(facts=facts).findings:
            found[entry.check].append(_sample(entry, facts))
    for one_check, facts in problems():
        for verdict in run(one_check, facts):
            if verdict.outcome is Outcome.PROBLEM:
                found[one_check.id].append(_sample(entry_of(verdict, facts), facts))
    return {id_: _chosen(every) for id_, every in found.items()}


def _sample(entry: FindingEntry, facts: Facts) -> SampleFinding:
    host = facts.host
    name, platform = host.distribution.name, host.platform
    container = "kubernetes" if host.kubernetes is True else host.container
    parts = [name if isinstance(name, str) else host.system]
    if isinstance(container, str):
        parts.append(f"in a {'pod' if container == 'kubernetes' else 'container'} ({container})")
    elif isinstance(platform, str) and platform in PLATFORMS:
        parts.append(PLATFORMS[platform])
    typed = "\n".join(command for fix in entry.fixes for command in fix.commands)
    manager = facts.pythons[0].manager if facts.pythons else None
    if isinstance(manager, str) and OF_PYTHON.search(typed):
        parts.append(manager)
    return SampleFinding(", ".join(parts), entry)


def _chosen(every: list[SampleFinding]) -> tuple[SampleFinding, ...]:
    """The first with commands, and those that differ most from it."""
    kept: dict[object, SampleFinding] = {}
    for one in every:
        lines = sum(command.count("\n") + 1 for fix in one.entry.fixes for command in fix.commands)
        said = re.sub(r"\d+", "", repr([(fix.message, fix.commands) for fix in one.entry.fixes]))
        if lines <= LONGEST:
            kept.setdefault(said, one)
    left = sorted(kept.values() or every[:1], key=lambda one: not any(fix.commands for fix in one.entry.fixes))
    chosen = left[:1]
    for one in left[1:]:
        if len(chosen) < MOST and one.machine not in {other.machine for other in chosen}:
            chosen.append(one)
    return tuple(chosen)
