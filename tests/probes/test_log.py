"""The kernel's log: where it is read, what is put together and kept, and what is said where it is closed."""

import os
from pathlib import Path

import pytest

from gpudoctor.child import ChildResult
from gpudoctor.facts import Host, LogEvent
from gpudoctor.machine import Machine
from gpudoctor.maybe import Unknown
from gpudoctor.probes.kernel_log import EACH_END, events, probe
from gpudoctor.probes.kernel_log.lines import Message, from_kmsg, from_text
from gpudoctor.recorded_machine import RecordedMachine

NVIDIA = frozenset({"10de"})
XID = "NVRM: Xid (PCI:0000:07:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
MISMATCH = (
    "NVRM: API mismatch: the client has the version 570.148.08, but",
    "NVRM: this kernel module has the version 570.148.06.  Please",
    "NVRM: make sure that this kernel module and all NVIDIA driver",
    "NVRM: components have the same version.",
)


def kept(machine: RecordedMachine) -> tuple[LogEvent, ...]:
    found = probe(machine, Host(container=None), NVIDIA).events
    assert not isinstance(found, Unknown)
    return found


def test_kmsg() -> None:
    text = f"6,1,250000,-;Linux version 6.8\n SUBSYSTEM=pci\n4,2,5310021,-;{XID}\n6,3,9000000,c;usb 1-1: reset\n"
    found = probe(RecordedMachine({"/dev/kmsg": text, "/proc/uptime": "41.75 300.00\n"}), Host(), NVIDIA)
    assert (found.source, found.first, found.now) == ("/dev/kmsg", 0.25, 41.75)
    assert found.events == (
        LogEvent(
            kind="xid",
            text=XID,
            seconds=5.310021,
            gpu="0000:07:00.0",
            code=79,
            what={"text": "GPU has fallen off the bus."},
        ),
    )


@pytest.mark.parametrize("text", ["", "soon\n"])
def test_without_a_clock_the_age_of_messages_is_unknown(text: str) -> None:
    found = probe(RecordedMachine({"/dev/kmsg": f"4,2,5310021,-;{XID}\n", "/proc/uptime": text}), Host(), NVIDIA)
    assert found.now == Unknown("/proc/uptime cannot be read")


@pytest.mark.parametrize(
    "messages",
    [
        from_kmsg(f"4,{n},{5000000 + n},-;{line}" for n, line in enumerate(MISMATCH)),
        from_kmsg(["4,1,5000000,-;" + "\\x0a".join(MISMATCH)]),
        from_text(f"[    5.00000{n}] {line}" for n, line in enumerate(MISMATCH)),
        from_text(f"[    5.00000{n}] host kernel: {line}" for n, line in enumerate(MISMATCH)),
        from_text([f"[    5.000000] {MISMATCH[0]}", *(" " * 15 + line for line in MISMATCH[1:])]),
    ],
)
def test_a_message_of_several_lines_is_put_together(messages: list[Message]) -> None:
    assert [m.text for m in messages] == [
        "NVRM: API mismatch: the client has the version 570.148.08, but this kernel module has the version "
        "570.148.06.  Please make sure that this kernel module and all NVIDIA driver components have the same version."
    ]
    assert [(e.kind, e.what["driver"]) for e in events(messages)] == [
        ("api-mismatch", "570.148.08"),
        ("api-mismatch-module", "570.148.06"),
    ]


def test_a_sentence_over_two_lines_is_recognised_with_its_gpu() -> None:
    (found,) = events(
        from_text(
            [
                "[   22.300120] NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
                "               NVRM: BAR1 is 0M @ 0x0 (PCI:0000:01:00.0)",
            ]
        )
    )
    assert (found.kind, found.gpu, found.seconds) == ("bar-invalid", "0000:01:00.0", 22.30012)


def test_messages_that_stand_alone_stay_alone() -> None:
    lines = ["[ 1.0] NVRM: The first one", "[ 9.0] NVRM: this is seconds later", "[ 9.1] usb 1-1: of another driver"]
    assert len(from_text(lines)) == 3
    assert len(from_text(["[ 1.0] NVRM: loaded.", "[ 1.0] NVRM: make sure that"])) == 2


def test_dated_lines() -> None:
    (message,) = from_text(["[Sun Feb 23 16:24:18 2025] " + XID])
    assert message == Message(None, (XID,))


def test_a_flood_is_cut_to_its_ends() -> None:
    flood = [Message(float(n), (XID.replace("79", "45"),)) for n in range(5000)]
    found = events([*flood[:2500], Message(2500.0, (XID,)), *flood[2500:]])
    assert [e.seconds for e in found if e.code == 79] == [2500.0]
    seconds = [e.seconds for e in found if e.code == 45]
    assert seconds == [float(n) for n in (*range(EACH_END), *range(5000 - EACH_END, 5000))]


def test_the_journal_and_dmesg_stand_in() -> None:
    journal = f"-- Boot 3f --\n[    1.5] host kernel: {XID}\n"
    machine = RecordedMachine(errors={"/dev/kmsg": "EPERM"}, commands={"journalctl": journal})
    assert probe(machine, Host(), NVIDIA).source == "journalctl"
    assert kept(machine)[0].code == 79
    assert machine.ran[0] == "journalctl -k -b --no-pager -o short-monotonic"
    hint = ChildResult(argv=(), code=0, out="-- No entries --\n", err="Hint: You are currently not seeing messages\n")
    machine = RecordedMachine(commands={"journalctl": hint, "dmesg": f"[    1.5] {XID}\n"})
    assert probe(machine, Host(), NVIDIA).source == "dmesg"
    assert kept(machine)[0].seconds == 1.5


def test_a_closed_log_is_unknown_and_says_what_would_open_it() -> None:
    refused = ChildResult(argv=(), code=1, err="dmesg: read kernel buffer failed: Operation not permitted\n")
    hint = ChildResult(argv=(), code=0, err="Hint: You are currently not seeing messages from other users\n")
    machine = RecordedMachine(errors={"/dev/kmsg": "EPERM"}, commands={"journalctl": hint, "dmesg": refused})
    assert probe(machine, Host(container=None), NVIDIA).events == Unknown(
        "The kernel log cannot be read (/dev/kmsg: Operation not permitted; journalctl: Hint: You are currently not "
        "seeing messages from other users; dmesg: read kernel buffer failed: Operation not permitted). "
        "Run with sudo, or as a member of the group systemd-journal or adm."
    )
    inside = probe(machine, Host(container="docker"), NVIDIA).events
    assert isinstance(inside, Unknown)
    assert inside.unknown.endswith("On the host, run: sudo dmesg")


def test_without_a_gpu_nothing_is_read() -> None:
    machine = RecordedMachine({"/dev/kmsg": f"4,2,5310021,-;{XID}\n"})
    assert probe(machine, Host(), frozenset()).events == ()
    traces = RecordedMachine({"/dev/kmsg": f"4,2,5310021,-;{XID}\n"}, folders=("/sys/module/nvidia",))
    assert isinstance(probe(traces, Host(), frozenset()).events, tuple)
    assert len(probe(traces, Host(), frozenset()).events) == 1  # type: ignore[arg-type]


def test_the_real_machine_reads_a_file_and_says_why_it_cannot(tmp_path: Path) -> None:
    machine = Machine(root=str(tmp_path))
    with pytest.raises(FileNotFoundError):
        machine.kmsg()
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").write_text("6,1,1,-;a\n6,2,2,-;b\n")
    assert machine.kmsg() == ["6,1,1,-;a", "6,2,2,-;b"]


def test_the_real_machine_reads_records_until_there_are_no_more(tmp_path: Path) -> None:
    """A pipe stands for the device: it gives what is there, and then its end instead of waiting."""
    (tmp_path / "dev").mkdir()
    path = tmp_path / "dev/kmsg"
    os.mkfifo(path)
    keep = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(keep, b"6,1,1,-;a\n")
        assert Machine(root=str(tmp_path)).kmsg() == ["6,1,1,-;a"]
    finally:
        os.close(keep)


def test_levels_count_where_the_log_knows_them() -> None:
    bad = "amdgpu 0000:01:00.0: amdgpu: Failed to evict process queues"
    leveled = [f"3,1,250000,-;{bad}", f"6,2,260000,-;{bad}", "6,3,270000,-;usb 1-1: new device"]
    assert [e.seconds for e in events(from_kmsg(leveled))] == [0.25]
    # What a program copied there has one level, which tells nothing.
    copied = [f"6,1,250000,-;{bad}", f"6,2,260000,-;{bad}"]
    assert [(e.kind, e.gpu, e.what) for e in events(from_kmsg(copied))] == [
        ("driver-error", "0000:01:00.0", {"module": "amdgpu"})
    ] * 2
