"""What is run, in which order, what is noted of it, and where it stops."""

import os
import resource
from pathlib import Path

import pytest

from gpudoctor.setup.executor import Did, carry, is_root, runnable, sorted_out
from gpudoctor.setup.journal import LIMIT, Journal, JournalError, place
from gpudoctor.setup.plan import Plan, SetupStep
from gpudoctor.tasks import Edit, as_root, cmd, query, sentence
from tests.apart import limited, unlimited


def step(name: str, *argv: str, **more: object) -> SetupStep:
    plain: dict[str, object] = {
        "id": name,
        "group": "environment",
        "title": name,
        "why": "w",
        "commands": (cmd(*argv),),
    }
    return SetupStep(**(plain | more))  # type: ignore[arg-type]


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(str(tmp_path / "state" / "gpudoctor" / "journal"))


class Runner:
    """Notes what is run, and gives the codes it was told to."""

    def __init__(self, **codes: int) -> None:
        self.codes, self.ran = codes, list[str]()

    def __call__(self, argv: tuple[str, ...]) -> int:
        self.ran.append(argv[0])
        return self.codes.get(argv[0], 0)


def test_all_steps_are_done_and_noted(journal: Journal) -> None:
    run, reported = Runner(), list[str]()
    steps = (step("one", "a", undo=(cmd("back-a"),)), step("two", "b", verify=(cmd("v"),)))
    ended = carry(steps, run, journal, reported.append, "setup")
    assert (ended.done, ended.failed) == (("one", "two"), None)
    assert run.ran == ["a", "b", "v"]
    assert reported == ["one", "$ a", "two", "$ b", "$ v"]
    events = [(e.event, e.step or e.what or e.outcome) for e in journal.entries()]
    assert events == [
        ("begin", "setup"), ("step", "one"), ("command", "one"), ("step", "two"), ("command", "two"),
        ("command", "two"), ("end", "done"),
    ]  # fmt: skip


def test_the_first_failure_ends_it(journal: Journal) -> None:
    run = Runner(b=7)
    ended = carry((step("one", "a"), step("two", "b"), step("three", "c")), run, journal, lambda _: None, "setup")
    assert run.ran == ["a", "b"]
    assert (ended.done, ended.failed and ended.failed.id, ended.did[-1]) == (("one",), "two", Did("b", 7))
    assert ended.changed == ("a",)
    assert [e.outcome for e in journal.entries() if e.event == "end"] == ["failed"]
    last = journal.last()
    assert last is not None
    assert [e.step for e in last[2] if e.event == "step"] == ["one", "two"]  # half of the second may be done


def test_a_step_has_failed_where_its_verification_does(journal: Journal) -> None:
    ended = carry((step("one", "a", verify=(cmd("v"),)),), Runner(v=1), journal, lambda _: None, "setup")
    assert ended.failed is not None
    assert (
        carry((step("one", "a", verify=(cmd("v"),)),), Runner(v=1), journal, lambda _: None, "x", False).failed is None
    )


def test_a_look_up_fails_nothing_but_a_proof_does(journal: Journal) -> None:
    one = step("one", commands=(query("look"), cmd("a")))
    assert carry((one,), Runner(look=1), journal, lambda _: None, "setup").failed is None
    proved = step("one", "a", verify=(query("look"),))
    assert carry((proved,), Runner(look=1), journal, lambda _: None, "setup").failed is not None


def test_a_dead_source_of_apt_ends_nothing(journal: Journal) -> None:
    one, reported = step("one", commands=(cmd("apt-get", "update"), cmd("a"))), list[str]()
    assert carry((one,), Runner(**{"apt-get": 100}), journal, reported.append, "setup").failed is None
    assert [line for line in reported if line.startswith("One of apt's sources failed")]


def test_apt_ends_what_dpkg_alone_cannot(journal: Journal) -> None:
    commands = (cmd("dpkg", "--configure", "-a"), cmd("apt-get", "--fix-broken", "install"), cmd("a"))
    run, reported = Runner(dpkg=1), list[str]()
    assert carry((step("one", commands=commands),), run, journal, reported.append, "setup").failed is None
    assert run.ran == ["dpkg", "apt-get", "a"]
    assert [line for line in reported if line.startswith("dpkg could not finish")]


def test_what_a_restart_brings_is_not_looked_for_before_it(journal: Journal) -> None:
    run = Runner(v=1)
    ended = carry((step("one", "a", reboot=True, verify=(cmd("v"),)),), run, journal, lambda _: None, "setup")
    assert (ended.failed, run.ran) == (None, ["a"])


def test_files_are_written_and_never_over_others(journal: Journal, tmp_path: Path) -> None:
    file = Edit(str(tmp_path / "new" / "pixi.toml"), "a = 1\n")
    steps = (step("one", "a", files=(file,)),)
    assert carry(steps, Runner(), journal, lambda _: None, "setup").failed is None
    assert Path(file.path).read_text() == "a = 1\n"
    Path(file.path).write_text("mine")
    run = Runner()
    assert carry(steps, run, journal, lambda _: None, "setup").failed is not None
    assert run.ran == []
    assert Path(file.path).read_text() == "mine"


def test_what_needs_root_a_shell_or_a_person_is_not_run() -> None:
    assert runnable(step("a", "a"), False)
    assert runnable(step("a", "a", root=True), False) is is_root()
    assert runnable(step("a", commands=(as_root("a"),)), False) is is_root()
    assert runnable(step("a", "a", root=True), True)
    assert not runnable(step("a", commands=(cmd("a"), *sentence("Then b."))), True)
    assert not runnable(step("a", commands=()), True)


def test_the_proof_waits_for_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudoctor.setup.executor.is_root", lambda: False)
    driver = step("driver", "a", group="driver", root=True, reboot=True)
    plan = Plan(steps=(driver, step("wheels", "b"), step("proof", "c", group="proof")))
    mine, theirs = sorted_out(plan, root=False)
    assert ([s.id for s in mine], [s.id for s in theirs]) == (["wheels"], ["driver", "proof"])
    mine, theirs = sorted_out(plan, root=True)
    assert ([s.id for s in mine], [s.id for s in theirs]) == (["driver"], ["wheels", "proof"])  # it restarts first


# -- the journal ---------------------------------------------------------------------------------------------


def test_the_journal_is_its_users_alone(journal: Journal) -> None:
    journal.write("begin", what="setup")
    assert os.stat(journal.path).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(journal.path)).st_mode & 0o777 == 0o700
    os.chmod(journal.path, 0o666)
    with pytest.raises(JournalError, match="another user"):
        list(journal.entries())


def test_no_link_is_followed(journal: Journal, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("")
    os.makedirs(os.path.dirname(journal.path))
    os.symlink(target, journal.path)
    with pytest.raises(JournalError):
        journal.write("begin", what="setup")
    assert target.read_text() == ""


def test_lines_that_are_none_of_ours_are_left_out(journal: Journal) -> None:
    journal.write("begin", what="setup")
    with open(journal.path, "a") as file:
        file.write("garbage\n{}\n")
    assert [e.event for e in journal.entries()] == ["begin"]


@limited(resource.RLIMIT_FSIZE, 200)
def test_a_line_that_a_full_disk_cuts_is_told_and_costs_no_other(journal: Journal) -> None:
    journal.write("begin", what="setup")
    with pytest.raises(JournalError, match="cannot be written"):
        journal.write("step", step="x" * 200, undo=(cmd("rm", "-rf", "/tmp/x"),))
    assert [e.event for e in journal.entries()] == ["begin"]
    unlimited(resource.RLIMIT_FSIZE)
    journal.write("step", step="one", undo=(cmd("rm", "y"),))
    assert [e.event for e in journal.entries()] == ["begin", "step"]
    assert (journal.last() or ("", "", ()))[2][-1].undo == (cmd("rm", "y"),)


def test_a_journal_that_is_too_large_takes_back_no_older_run(journal: Journal) -> None:
    carry((step("one", "a"),), Runner(), journal, lambda _: None, "setup")
    with open(journal.path, "a") as file:
        file.write("\n" * LIMIT)
    with pytest.raises(JournalError, match="larger than 8 MiB: move it away"):
        journal.last()
    with pytest.raises(JournalError, match="larger than 8 MiB: move it away"):
        journal.write("begin", what="setup")


def test_the_last_run_is_the_last_whatever_the_clock_said(journal: Journal) -> None:
    first, second = Journal(journal.path), Journal(journal.path)
    first.run, second.run = "20991231T000000-7-1", "19700101T000000-7-1"
    carry((step("one", "a"),), Runner(), first, lambda _: None, "setup")
    carry((step("two", "b"),), Runner(), second, lambda _: None, "setup")
    assert (journal.last() or ("",))[0] == second.run


def test_a_run_that_was_taken_back_is_not_the_last(journal: Journal) -> None:
    assert journal.last() is None
    first, second = Journal(journal.path), Journal(journal.path)
    first.run, second.run = "1", "2"
    carry((step("one", "a"),), Runner(), first, lambda _: None, "fix a.b")
    carry((step("two", "b"),), Runner(), second, lambda _: None, "setup")
    last = journal.last()
    assert last is not None
    assert last[:2] == ("2", "setup")
    journal.write("begin", what="undo")
    journal.write("undone", what="2")
    last = journal.last()
    assert last is not None
    assert last[:2] == ("1", "fix a.b")


@pytest.mark.parametrize(
    ("env", "path"),
    [
        ({"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/gpudoctor/journal"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/gpudoctor/journal"),
        ({"HOME": "/h"}, "/h/.local/state/gpudoctor/journal"),
    ],
)
def test_where_the_journal_lies(env: dict[str, str], path: str) -> None:
    assert place(env) == path
