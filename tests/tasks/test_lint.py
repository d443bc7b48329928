"""Every command that a fix can print is read by a shell as it is meant; fact tables are linted where they run."""

import shutil
import subprocess
from functools import cache
from typing import Any

import pytest

from gpudoctor import catalogue
from gpudoctor.check_engine import Check, Fix, run
from gpudoctor.facts import Facts
from gpudoctor.tasks import Command, Manual, Task, cmd
from gpudoctor.tasks.as_typed import shown
from tests.machines.registry import machines
from tests.tasks.lint import faults


@cache
def fixes() -> tuple[Fix, ...]:
    """What all checks advise: those that fix every machine alike, and what the known machines get."""
    every: list[Check[Any]] = catalogue.load(catalogue.ids())
    alike = [fix for one in every if not callable(one.fixes) for fix in one.fixes]
    known: list[Facts] = [machine.make() for machine in machines()]
    return (*alike, *(fix for facts in known for one in every for verdict in run(one, facts) for fix in verdict.fixes))


def test_every_command_holds() -> None:
    assert len(fixes()) > 200
    assert sorted({fault for fix in fixes() for fault in faults(fix)}) == []


@pytest.mark.parametrize(
    "task",
    [
        cmd("sudo", "reboot"),
        cmd("a", "|", "b"),
        cmd("frobnicate"),
        cmd("docker", "restart", "CONTAINER"),
        cmd("docker", "run", "..."),
        cmd("apt-get", "install", "linux-headers-$(uname -r)"),
        cmd("systemctl", "enable", "a.service b.service"),
        Command(("rm", "a"), lookup=True),
        Manual("sudo nano x"),
    ],
)
def test_what_the_lint_is_for(task: Task) -> None:
    assert list(faults(Fix("Do.", (task,))))


def test_shellcheck_has_nothing_to_say() -> None:
    program = shutil.which("shellcheck")
    if program is None:
        pytest.skip("shellcheck is not installed (Debian's package shellcheck)")
    tasks = {t for fix in fixes() for t in (*fix.tasks, *fix.undo, *((fix.verify,) if fix.verify else ()))}
    lines = sorted({shown(task) for task in tasks if not isinstance(task, Manual)})
    script = "#!/bin/sh\n" + "\n".join(lines) + "\n"
    # SC2164, SC2154: lines of their own, in a shell that somebody has; SC1091: files that are not there
    done = subprocess.run(
        [program, "--severity=warning", "--exclude=SC2164,SC2154,SC1091", "--shell=sh", "-"],
        input=script, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout == ""
