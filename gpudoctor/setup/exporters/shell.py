"""A shell script: what needs root runs only with --with-root."""

import shlex

from gpudoctor.setup.exporters.common import head, isolated, line, remarks
from gpudoctor.setup.plan import Plan, SetupStep
from gpudoctor.tasks import Edit, Task

_START = """set -eu
with_root=no
[ "${1:-}" = --with-root ] && with_root=yes
[ "$(id -u)" != 0 ] || sudo() { "$@"; }
"""


def render(plan: Plan) -> str:
    """The script."""
    asked = [step for step in plan.steps if _needs_root(step)]
    start = _START if any(step.commands for step in asked) else "set -eu\n"
    lines = ["#!/bin/sh", *head(plan, "A setup"), *start.splitlines()]
    for number, step in enumerate(plan.steps, 1):
        lines += ["", *remarks(f"{number}. {step.title}"), *remarks(step.why)]
        lines += _asked(step) if step in asked else _plain(step)
        if asked and step is asked[-1]:
            lines += _restart(asked)
    return "\n".join(lines) + "\n"


def _needs_root(step: SetupStep) -> bool:
    """Whether a step is one of the machine itself; one without commands is told only."""
    return step.group in ("driver", "container") or step.asks_root


def _plain(step: SetupStep) -> list[str]:
    lines = [f"echo {shlex.quote(step.title)}"]
    for file in step.files:
        lines += _file(file)
    return [*lines, *(_line(c) for c in step.commands), *(_line(c) for c in step.verify)]


def _asked(step: SetupStep) -> list[str]:
    """A step that changes the machine: only where the caller says so."""
    found = [f"    {one}" for c in step.commands for one in _line(c).splitlines()]
    if not found:
        return [f"echo {shlex.quote('Do this by hand: ' + step.title)}"]
    leaves = f"    echo {shlex.quote('Skipped without --with-root: ' + step.title)}"
    return ["if [ $with_root = yes ]; then", *found, "else", leaves, "fi"]


def _line(task: Task) -> str:
    return line(isolated(task))  # the script is run in whatever directory somebody stands in


def _restart(asked: list[SetupStep]) -> list[str]:
    """The end of a run as root, where what comes next needs a restart."""
    if not any(step.reboot and step.commands for step in asked):
        return []
    message = f"    echo {shlex.quote('Reboot, then run this again without --with-root.')}"
    return ["if [ $with_root = yes ]; then", message, "    exit 0", "fi"]


def _file(file: Edit) -> list[str]:
    mark = "END_OF_FILE"
    while mark in (file.text or ""):
        mark += "_"
    folder = shlex.quote(file.path.rpartition("/")[0] or "/")
    return [
        f"mkdir -p {folder}",
        f"cat > {shlex.quote(file.path)} <<'{mark}'",
        *(file.text or "").rstrip("\n").splitlines(),
        mark,
    ]
