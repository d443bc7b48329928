"""Which command runs a fix, why none can, and what the application does with it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from gpudoctor import demo
from gpudoctor.pipeline import CheckOptions, Done
from gpudoctor.report.model import FixEntry, Report
from gpudoctor.tasks import cmd
from gpudoctor.tui.app import Doctor
from gpudoctor.tui.diagnosis import fixing
from gpudoctor.tui.diagnosis.items import Item, groups
from gpudoctor.tui.session import Session, SessionSource
from tests.builders import plain_host
from tests.tui.diagnosis.machines import MISMATCH, REPORT
from tests.tui.screens import run, settled, text_of

FIX = FixEntry("Reload it.", ("sudo modprobe nvidia",), root=True, needs="reboot", tasks=(cmd("modprobe", "nvidia"),))
MANUAL = FixEntry("Reseat the card.")
OUTSIDE = FixEntry("Start it with --gpus all.", ("docker run",), place="outside", tasks=(cmd("docker", "run"),))


def live(**changes: Any) -> Session:
    return Session(SessionSource(**{"command": lambda *_: 0, **changes}))


def item_of(fix: FixEntry, **changes: Any) -> Item:
    entry = msgspec.structs.replace(MISMATCH, fixes=(fix,), **changes)
    return groups(Report(findings=(entry,)))[0].root


RECORDED = Session(SessionSource(title="host.json", facts=plain_host()))
CONSEQUENCE = groups(REPORT)[0].consequences[0]
REASONS = [
    (RECORDED, item_of(FIX), "Only on a live machine: these are recorded facts (host.json)."),
    (live(command=None), item_of(FIX), "Only in a terminal on the machine itself"),
    (live(), None, "Select a finding first."),
    (live(), CONSEQUENCE, "This is a consequence of: The libraries do not match the module."),
    (live(), item_of(MANUAL), "This finding has no commands to run."),
    (live(), item_of(OUTSIDE), "This must be done outside"),
    (live(), item_of(FIX), ""),
]


@pytest.mark.parametrize(("session", "item", "why"), REASONS)
def test_a_fix_that_cannot_be_run_says_why(session: Session, item: Item | None, why: str) -> None:
    found = fixing.why_not(session, item, 0)
    assert found.startswith(why)
    assert bool(found) == bool(why)


def test_while_probes_run_and_for_another_subject_nothing_is_run() -> None:
    session = live()
    session.begin()
    assert fixing.why_not(session, item_of(FIX), 0).startswith("The probes are still running")
    other = msgspec.structs.replace(MISMATCH, fixes=(FIX,), subject="GPU 0")
    session.take(Done(Report(findings=(other, MISMATCH)), plain_host()))
    assert fixing.why_not(session, item_of(FIX), 0) == "`gpudoctor fix` starts with GPU 0: fix that first."


@pytest.mark.parametrize(
    ("options", "fix", "words"),
    [
        (CheckOptions(), FIX, "fix a.b --choice 2 --with-root --no-expect"),
        (CheckOptions(), msgspec.structs.replace(FIX, as_root=True), "fix a.b --choice 2 --no-expect"),
        (
            CheckOptions(pythons=("/e/python",), quick=True),
            MANUAL,
            "fix a.b --choice 2 --quick --python /e/python --no-expect",
        ),
    ],
)
def test_the_command_has_the_fix_the_environment_and_root_only_where_it_is_needed(
    options: CheckOptions, fix: FixEntry, words: str
) -> None:
    assert " ".join(fixing.words(live(options=options), "a.b", fix, 1)) == words


def test_afterwards_one_knows_what_is_left_and_how_to_undo_it() -> None:
    assert fixing.afterwards(FIX) == "It takes effect after a reboot. U undoes the fix."
    assert fixing.afterwards(MANUAL) == "U undoes the fix."


def test_a_command_that_the_mouse_selects_is_one_line() -> None:
    async def go(pilot: Pilot[Any]) -> None:
        await settled(pilot, lambda: any("rmmod" in row for row in text_of(pilot.app)))
        row = next(at for at, text in enumerate(text_of(pilot.app)) if "rmmod" in text)
        assert text_of(pilot.app)[row].endswith(" \\")
        await pilot.mouse_down(offset=(12, row))
        await pilot.hover(offset=(50, row + 1))
        await pilot.mouse_up(offset=(50, row + 1))
        await settled(pilot)
        selected = pilot.app.screen.get_selected_text()
        assert selected == "sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia"

    source = SessionSource(title="demo: mismatch", facts=demo.load("mismatch"))
    run(lambda: Doctor(source), go, (56, 30))


@pytest.mark.parametrize("key", ["R", "U", "x", "r"])
def test_a_key_that_does_nothing_here_says_why(key: str) -> None:
    async def go(pilot: Pilot[Any]) -> None:
        await settled(pilot, lambda: any("rmmod" in row for row in text_of(pilot.app)))
        await pilot.press(key)
        await settled(pilot, lambda: "Only on a live machine: these are" in " ".join(text_of(pilot.app)))

    run(lambda: Doctor(SessionSource(title="demo", facts=demo.load("mismatch"))), go)
