"""Every node ends in the ledger as it should, whatever its engine does; nothing hangs and no report is lost."""

import os
import resource
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event

import pytest

from gpudoctor.fleet.runner import orchestrator as conducting
from gpudoctor.fleet.runner import protocol
from gpudoctor.fleet.runner.engine import EngineError, FleetTarget, NodeJob, NodeLine, Over, Tell
from gpudoctor.fleet.runner.ledger import read
from gpudoctor.fleet.runner.orchestrator import RunOutcome, conduct
from gpudoctor.fleet.runner.run_directory import RunDirectory
from gpudoctor.fleet.runner.tracker import NodeTrace, RunProgress, resolved
from tests.apart import limited, unlimited
from tests.fleet.runner.kit import JOB, Played, Script, every, opened, report, said, targets, telling


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunDirectory]:
    one = opened(tmp_path)
    yield one
    one.close()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conducting, "LOOK", 0.01)
    monkeypatch.setattr(conducting, "LINGER", 0.2)
    monkeypatch.setattr(conducting, "PATIENCE", 0.5)


def run(folder: RunDirectory, script: Script, *nodes: str, stop: Event | None = None) -> RunOutcome:
    return conduct(Played(script), targets(*nodes), JOB, folder, stop)


def states(folder: RunDirectory) -> dict[str, str]:
    """What stands on disk, not what we remember."""
    return {node: one.state for node, one in read(folder.ledger.path).items()}


def notes(folder: RunDirectory) -> int:
    return Path(folder.ledger.path).read_bytes().count(b"\n")


def whys(folder: RunDirectory) -> dict[str, str]:
    return {node: one.why for node, one in read(folder.ledger.path).items()}


def landed(folder: RunDirectory) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in Path(folder.reports).iterdir()}


def test_all_report_and_each_is_noted_once(folder: RunDirectory) -> None:
    mixed = [line for pair in zip(said("a"), said("b", report("fail"), known=False), strict=True) for line in pair]
    outcome = run(folder, telling(*mixed, Over("a", "failed", "exit code 1"), Over("b", "failed", "")), "a", "b")
    assert outcome == RunOutcome(RunProgress(2, 2, 0, 0))
    assert states(folder) == {"a": "reported", "b": "reported"}
    assert landed(folder) == {"a.json": report(), "b.json": report("fail")}
    assert notes(folder) == 2
    assert read(folder.ledger.path)["a"].seconds is not None


def test_a_report_counts_and_no_exit_code_does(folder: RunDirectory) -> None:
    script = telling(*said("a"), Over("a", "failed", "srun: exit code 137"), Over("b", "reported", ""))
    run(folder, script, "a", "b")
    assert states(folder) == {"a": "reported", "b": "failed"}
    assert whys(folder)["b"] == "Its engine reports it as done, but it sent no report."


def test_a_report_after_the_end_is_not_lost(folder: RunDirectory) -> None:
    outcome = run(folder, telling(Over("a", "timed out", "Too late."), *said("a")), "a")
    assert outcome.standing == RunProgress(1, 1, 0, 0)
    assert states(folder) == {"a": "reported"}


def test_the_same_report_twice_counts_once(folder: RunDirectory) -> None:
    outcome = run(folder, telling(*said("a"), *said("a", report("fail")), Over("a", "failed", "")), "a")
    assert outcome.standing.reported == 1
    assert landed(folder) == {"a.json": report()}
    assert notes(folder) == 1


def test_nodes_that_nobody_asked_for_are_dropped(folder: RunDirectory) -> None:
    run(folder, telling(*said("a"), *said("stranger", known=False), Over("stranger", "failed", "")), "a")
    assert set(states(folder)) == {"a"}
    assert set(landed(folder)) == {"a.json"}


def test_what_an_engine_cannot_ask_is_not_asked(folder: RunDirectory) -> None:
    engine = Played(telling(*said("a")))
    nodes = [FleetTarget(node="a"), FleetTarget(node="b", why_not="drained: bad fan"), FleetTarget(node="n" * 300)]
    conduct(engine, nodes, JOB, folder)
    assert engine.asked == ["a"]
    assert states(folder) == {"a": "reported", "b": "not asked", "n" * 300: "not asked"}
    assert whys(folder)["b"] == "drained: bad fan"


def test_an_engine_with_nobody_to_ask_is_not_started(folder: RunDirectory) -> None:
    engine = Played(telling())
    conduct(engine, [FleetTarget(node="b", why_not="down")], JOB, folder)
    assert engine.asked == []
    assert states(folder) == {"b": "not asked"}


def test_hello_and_no_more(folder: RunDirectory) -> None:
    lines = list(said("cut", os.urandom(3000)))
    script = telling(
        *lines[:-1], Over("cut", "unreachable", "The connection was cut."),
        NodeLine("greeted", protocol.hello("greeted")), Over("greeted", "failed", ""),
        NodeLine("locked", protocol.hello("locked")), Over("locked", "refused", "Said too late."),
        *said("wrong", b"{}"), Over("wrong", "failed", "Ended with 0."),
    )  # fmt: skip
    run(folder, script, "cut", "greeted", "locked", "wrong", "silent")
    assert states(folder) == {
        "cut": "unreachable", "greeted": "failed", "locked": "failed", "wrong": "failed", "silent": "failed",
    }  # fmt: skip
    assert whys(folder) == {
        "cut": "The connection was cut. Its report arrived incomplete.",
        "greeted": "It started, but ended without a report.",
        "locked": "Said too late.",
        "wrong": "Ended with 0. What it sent has the schema ''; this version reads gpudoctor.report/1.",
        "silent": "Its engine ended without reporting on it.",
    }
    assert landed(folder) == {}


@pytest.mark.parametrize(
    ("state", "why", "seen", "found"),
    [
        ("failed", "", NodeTrace(False), "unreachable"),
        ("failed", "bash: gpudoctor: command not found", NodeTrace(False), "failed"),
        ("refused", "Permission denied.", NodeTrace(False), "refused"),
        ("refused", "", NodeTrace(True), "failed"),
        ("not asked", "", NodeTrace(True), "failed"),
        ("not asked", "", NodeTrace(False), "not asked"),
        ("unreachable", "down in mid-run", NodeTrace(True), "unreachable"),
        ("timed out", "", NodeTrace(True, half=True), "timed out"),
        ("reported", "", NodeTrace(True), "failed"),
        ("sleeping", "", NodeTrace(False), "failed"),
    ],
)
def test_the_state_of_a_node_without_a_report(state: str, why: str, seen: NodeTrace, found: str) -> None:
    resulting, message = resolved(state, why, seen)
    assert resulting == found
    assert message.startswith(why)
    assert message


def test_many_threads_may_tell(folder: RunDirectory) -> None:
    nodes = [f"node{number:03}" for number in range(100)]

    def script(_: Sequence[FleetTarget], tell: Tell, __: Event) -> None:
        def send(mine: list[str]) -> None:
            for node in mine:
                every(tell, *said(node, report(x=node * 300), known=False), Over(node, "failed", ""))

        threads = [threading.Thread(target=send, args=(nodes[at::8],)) for at in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    run(folder, script, *nodes)
    assert states(folder) == dict.fromkeys(nodes, "reported")
    assert landed(folder)["node042.json"] == report(x="node042" * 300)
    assert notes(folder) == 100


def test_somebody_ends_the_run_and_another_goes_on(folder: RunDirectory, tmp_path: Path) -> None:
    stop = Event()

    def script(_: Sequence[FleetTarget], tell: Tell, stopped: Event) -> None:
        every(tell, *said("done"), NodeLine("busy", protocol.hello("busy")))
        stop.set()
        assert stopped.wait(30)

    outcome = run(folder, script, "done", "busy", "waiting", stop=stop)
    assert outcome.stopped
    assert not outcome.error
    assert states(folder) == {"done": "reported", "busy": "failed", "waiting": "not asked"}
    assert whys(folder)["waiting"] == "The run was stopped before it was checked."
    left = folder.waiting(targets("done", "busy", "waiting"))
    engine = Played(telling(*said("busy"), *said("waiting")))
    conduct(engine, left, JOB, folder)
    assert engine.asked == ["busy", "waiting"]
    assert set(states(folder).values()) == {"reported"}


def test_what_ends_with_the_run_is_no_fault_of_the_nodes(folder: RunDirectory) -> None:
    folder.ledger.note("late", "timed out", "It did not finish within 60 s.")
    stop = Event()

    def script(_: Sequence[FleetTarget], tell: Tell, stopped: Event) -> None:
        tell(NodeLine("busy", protocol.hello("busy")))
        stop.set()
        assert stopped.wait(30)
        every(tell, Over("busy", "failed", "The command was killed there by SIGINT."),
              Over("new", "failed", "ssh failed with exit code 255 without output."),
              Over("late", "failed", "ssh failed with exit code 255 without output."))  # fmt: skip

    run(folder, script, "busy", "new", "late", stop=stop)
    assert states(folder) == {"busy": "failed", "new": "not asked", "late": "timed out"}
    assert whys(folder)["busy"] == "The run was stopped before its report arrived."


def test_a_run_that_was_ended_before_it_began_asks_nobody(folder: RunDirectory) -> None:
    stop = Event()
    stop.set()
    engine = Played(telling(*said("a")))
    assert conduct(engine, targets("a"), JOB, folder, stop).stopped
    assert engine.asked == []
    assert states(folder) == {"a": "not asked"}


def test_an_engine_that_does_not_end_is_left_behind(folder: RunDirectory) -> None:
    never = Event()

    def script(_: Sequence[FleetTarget], tell: Tell, __: Event) -> None:
        every(tell, *said("a"), Over("b", "unreachable", "No route to host."))
        never.wait(60)
        tell(Over("a", "failed", "much too late"))

    outcome = run(folder, script, "a", "b")
    never.set()
    assert not outcome.stopped
    assert states(folder) == {"a": "reported", "b": "unreachable"}


def test_a_node_of_which_its_engine_says_nothing_any_more_times_out(
    folder: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conducting, "SLACK", 0.0)

    def script(_: Sequence[FleetTarget], tell: Tell, stop: Event) -> None:
        tell(NodeLine("a", protocol.hello("a")))
        stop.wait(60)

    conduct(Played(script), targets("a"), NodeJob(("x",), 0.05), folder)
    assert states(folder) == {"a": "timed out"}


def test_an_engine_that_cannot_be_used_after_all(folder: RunDirectory) -> None:
    def script(_: Sequence[FleetTarget], tell: Tell, __: Event) -> None:
        every(tell, *said("a"), NodeLine("b", protocol.hello("b")))
        raise EngineError("slurmctld does not respond.")

    outcome = run(folder, script, "a", "b", "c")
    assert outcome.error == "slurmctld does not respond."
    assert not outcome.full
    assert states(folder) == {"a": "reported", "b": "failed", "c": "not asked"}
    assert whys(folder)["c"] == "slurmctld does not respond."


def test_a_fault_of_an_engine_is_raised_when_the_ledger_is_complete(folder: RunDirectory) -> None:
    def script(_: Sequence[FleetTarget], tell: Tell, __: Event) -> None:
        for line in said("a"):
            tell(line)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(folder, script, "a", "b")
    assert states(folder) == {"a": "reported", "b": "not asked"}


def test_an_interrupt_finds_the_ledger_complete(folder: RunDirectory) -> None:
    def script(_: Sequence[FleetTarget], tell: Tell, stop: Event) -> None:
        for line in said("a"):
            tell(line)
        stop.wait(60)

    def watch(standing: RunProgress) -> None:
        if standing.reported:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conduct(Played(script), targets("a", "b"), JOB, folder, None, watch)
    assert states(folder) == {"a": "reported", "b": "not asked"}


def test_whoever_watches_sees_how_it_stands(folder: RunDirectory) -> None:
    seen: list[RunProgress] = []
    go_on = Event()

    def script(_: Sequence[FleetTarget], tell: Tell, __: Event) -> None:
        every(tell, *said("a"), NodeLine("b", protocol.hello("b")), Over("c", "refused", "No."))
        assert go_on.wait(30)

    def watch(standing: RunProgress) -> None:
        seen.append(standing)
        if standing == RunProgress(4, 1, 1, 1):
            go_on.set()

    conduct(Played(script), targets("a", "b", "c", "d"), JOB, folder, None, watch)
    assert RunProgress(4, 1, 1, 1) in seen


@limited(resource.RLIMIT_FSIZE, 200)
def test_a_disk_too_full_for_the_ledger(folder: RunDirectory) -> None:
    a_full_disk_stops_the_run_and_breaks_nothing(folder, 200)


@limited(resource.RLIMIT_FSIZE, 1500)
def test_a_disk_too_full_for_a_report_and_not_for_the_ledger(folder: RunDirectory) -> None:
    a_full_disk_stops_the_run_and_breaks_nothing(folder, 1500)


def a_full_disk_stops_the_run_and_breaks_nothing(folder: RunDirectory, limit: int) -> None:
    big = report(x=os.urandom(2000).hex())

    def script(_: Sequence[FleetTarget], tell: Tell, stop: Event) -> None:
        every(tell, *said("a"), *said("b"), *said("c", big), *said("d", big))
        assert stop.wait(30)

    outcome = run(folder, script, "a", "b", "c", "d", "e")
    unlimited(resource.RLIMIT_FSIZE)
    assert outcome.full
    assert outcome.error.endswith(
        (" cannot be written: File too large.", " cannot be written: No space left on device.")
    )
    told = states(folder)
    assert told["a"] == "reported"
    assert all(data == report() for data in landed(folder).values())
    if limit == 1500:
        assert told == {"a": "reported", "b": "reported", "c": "failed", "d": "failed", "e": "not asked"}
    assert [one.node for one in folder.waiting(targets("a", "b", "c"))] == ["c"]


def test_a_folder_that_vanishes_is_a_sentence(folder: RunDirectory) -> None:
    os.rmdir(folder.reports)
    outcome = run(folder, telling(*said("a")), "a")
    assert outcome.error == f"{folder.reports} cannot be written: No such file or directory."
    assert states(folder) == {"a": "failed"}
