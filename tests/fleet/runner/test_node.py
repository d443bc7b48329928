"""What runs on a node: hello at once, the report in lines and nothing else, and an end within its limit."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpudoctor.expect import ExpectFileError
from gpudoctor.fleet.runner import protocol, report_store
from gpudoctor.fleet.runner.payload import packed, unpacked
from tests.cli import Ran, gpudoctor, shell
from tests.expect import one
from tests.probes.environments import script
from tests.standins import clean_up, left_running

HOST = os.uname().nodename
NEVER = one("host.cpus", "at_least=1000000")


def answer(ran: Ran) -> tuple[str, dict[str, object]]:
    """The name that said hello, and the report; fails where anything else was written."""
    assembler = protocol.Assembler()
    first, *rest = [assembler.feed(line) for line in ran.out.splitlines()]
    assert isinstance(first, protocol.Hello)
    assert [found for found in rest[:-1] if found] == []
    assert isinstance(rest[-1], protocol.Landed)
    assert first.node == rest[-1].node
    assert report_store.checked(rest[-1].data) == rest[-1].data
    return first.node, json.loads(rest[-1].data)


def test_hello_and_a_report_and_nothing_else() -> None:
    ran = gpudoctor("fleet", "node", "--quick", "--name", "a b/../é")
    assert (ran.code, ran.err) == (0, "")
    name, report = answer(ran)
    assert name == "a b/../é"
    assert report["schema"] == "gpudoctor.report/1"
    assert report["summary"]["broken"] == 0  # type: ignore[index]


def test_the_report_is_the_one_that_check_writes() -> None:
    _, report = answer(gpudoctor("fleet", "node", "--quick"))
    checked = json.loads(gpudoctor("check", "--quick", "--json").out)
    for name in ("machine", "inventory", "gpus", "status"):
        assert report[name] == checked[name]


@pytest.mark.parametrize(
    ("env", "name"),
    [({}, HOST), ({"SLURMD_NODENAME": "node07"}, "node07"), ({"SLURMD_NODENAME": ""}, HOST)],
)
def test_the_name_of_a_node_that_nobody_names(env: dict[str, str], name: str) -> None:
    assert answer(gpudoctor("fleet", "node", "--quick", env=env))[0] == name


def test_whatever_else_is_printed_goes_to_standard_error() -> None:
    code = """
import os, subprocess
from gpudoctor.fleet.runner.node import only_lines
print("before")
write = only_lines()
print("noise"); os.write(1, b"more noise\\n"); subprocess.run(["echo", "a child"])
write("a line"); write("é" * 5000)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.stdout == "before\na line\n" + "é" * 5000 + "\n"
    assert sorted(ended.stderr.splitlines()) == ["a child", "more noise", "noise"]


def limited(waits: str) -> subprocess.CompletedProcess[str]:
    """A process with a limit of 0.3 s that waits for something."""
    code = f"import ctypes, time\nfrom gpudoctor.fleet.runner.node import end_in\nend_in(0.3)\n{waits}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def test_whatever_blocks_a_node_ends_within_its_limit() -> None:
    ended = limited("time.sleep(300)")
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr == "gpudoctor: The check did not finish within its limit of 0.3 s.\n"


def test_even_where_no_thread_of_python_runs_any_more() -> None:
    ended = limited("ctypes.PyDLL(None).sleep(300)")  # it holds the interpreter's lock
    assert ended.returncode == -signal.SIGALRM


def test_what_hangs_on_a_node_costs_its_own_answers_only(tmp_path: Path) -> None:
    script(tmp_path / "env/bin/python", "trap '' TERM; sleep 300 & wait; wait")
    env = {"VIRTUAL_ENV": str(tmp_path / "env"), "MARK": str(tmp_path)}
    ran = gpudoctor("fleet", "node", "--quick", "--name", "a", "--timeout", "6", env=env)
    assert (ran.code, ran.err) == (0, "")
    assert "did not respond" in answer(ran)[1]["python"]["error"]  # type: ignore[index]
    end = time.monotonic() + 10
    while (left := left_running(str(tmp_path))) and time.monotonic() < end:
        time.sleep(0.05)
    clean_up(left)
    assert left == []


@pytest.fixture
def expected(tmp_path: Path) -> str:
    """A file that no machine meets."""
    path = tmp_path / "ours.toml"
    path.write_text(NEVER)
    path.chmod(0o644)
    return str(path)


def expects(ran: Ran) -> list[str]:
    found = answer(ran)[1]["findings"]
    assert isinstance(found, list)
    return [entry["cause"] for entry in found if entry["check"] == "expect.host-cpus"]


def test_expectations_are_held_there_and_told_by_the_names_of_here(expected: str) -> None:
    sent = packed([expected])
    (reported,) = expects(gpudoctor("fleet", "node", "--quick", "--expect-text", sent))
    assert reported.startswith(f"The rule is in {expected}:1. ")


@pytest.mark.parametrize("text", ["nonsense!", "AAAA", "éé", "eJw="])
def test_expectations_that_arrive_broken_are_told_after_hello(text: str) -> None:
    ran = gpudoctor("fleet", "node", "--quick", "--name", "a", "--expect-text", text)
    assert (ran.code, ran.out) == (2, protocol.hello("a") + "\n")
    assert ran.err == "gpudoctor: The expectations that were sent cannot be read.\n"


def test_expectations_are_read_and_refused_where_they_are(tmp_path: Path, expected: str) -> None:
    assert packed([]) == ""
    assert unpacked("") == ()
    assert unpacked(packed([expected, expected])) == ((expected, NEVER),)
    Path(expected).write_text("[expect.gpu]\ncount=1")
    with pytest.raises(ExpectFileError, match='Did you mean "gpus"'):
        packed([expected])
    Path(expected).write_text(
        "".join(f"[[expect.gpus]]\ncount=1\nmessage='{os.urandom(60).hex()}'\n" for _ in range(1500))
    )
    with pytest.raises(ExpectFileError, match=r"is too large to send to nodes: \d+ KiB compressed, the limit is 96; "):
        packed([expected])


def test_an_argument_of_somebody_elses_making_is_held_too() -> None:
    import base64
    import zlib

    made = base64.urlsafe_b64encode(zlib.compress(json.dumps([["theirs", "[expect.gpu]\ncount=1"]]).encode())).decode()
    with pytest.raises(ExpectFileError, match=r"theirs:1: gpu: "):
        unpacked(made)


def test_wrong_usage_and_streams_that_are_gone() -> None:
    assert gpudoctor("fleet", "node", "--timeout", "1").sentence == "--timeout takes 5 to 86400 seconds, not 1."
    assert gpudoctor("fleet", "node", "--timeout", "soon").sentence == "--timeout takes 5 to 86400 seconds, not soon."
    line = "gpudoctor fleet node --quick"
    assert shell(f"{line} >&-").sentence == "Standard output is closed."
    assert shell(f"{line} >/dev/full").sentence == "Standard output: No space left on device."
    assert shell(f'{line} | true; echo "${{PIPESTATUS[0]}}"').out in ("141\n", "0\n")


@pytest.mark.skipif(sys.platform != "linux", reason="as the kernel of Linux tells it")
@pytest.mark.parametrize("kind", ["pipe", "socket"])  # sshd gives a pair of sockets
def test_a_node_ends_when_nobody_reads_any_more(kind: str) -> None:
    code = "import time\nfrom gpudoctor.fleet.runner.node import only_lines\nonly_lines()('hello')\ntime.sleep(300)"
    if kind == "pipe":
        ours, theirs = os.pipe()
    else:
        ours, theirs = (end.detach() for end in socket.socketpair())
    with subprocess.Popen([sys.executable, "-c", code], stdout=theirs) as process:
        os.close(theirs)
        try:
            assert os.read(ours, 100) == b"hello\n"
            assert process.poll() is None
            os.close(ours)
            assert process.wait(60) == 141
        finally:
            process.kill()
