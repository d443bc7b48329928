"""`gpudoctor run`: a program runs as if nobody stood before it; only its failure is explained."""

import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpudoctor.cli.run_program.spawn import NotRunError, located
from tests.cli import BARE, gpudoctor, shell

PYTHON = [sys.executable, "-c"]
GPUDOCTOR = [sys.executable, "-m", "gpudoctor"]


def run(code: str, *options: str, **how: object) -> "subprocess.CompletedProcess[bytes]":
    """A Python program run by gpudoctor."""
    argv = [*GPUDOCTOR, "run", "--quick", *options, "--", *PYTHON, code]
    given = {"capture_output": True, "env": BARE, "cwd": "/", "timeout": 60} | how
    return subprocess.run(argv, **given)  # type: ignore[call-overload, no-any-return]


@pytest.fixture
def background(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    """Starts a Python program by gpudoctor, and waits until it says that it is ready."""

    def start(code: str, **how: object) -> "subprocess.Popen[bytes]":
        code = f"import os, signal, sys, time\nready = lambda: open({str(tmp_path / 'ready')!r}, 'w').close()\n{code}"
        argv = [*GPUDOCTOR, "run", "--quick", "--", *PYTHON, code]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": BARE, "cwd": str(tmp_path)}
        child = subprocess.Popen(argv, start_new_session=True, **(streams | how))  # type: ignore[call-overload]
        end = time.monotonic() + 20
        while not (tmp_path / "ready").exists():
            assert time.monotonic() < end, "the program was never started"
            time.sleep(0.01)
        started.callback(child.wait, 20)
        started.callback(child.kill)
        for stream in (child.stdout, child.stderr, child.stdin):
            if stream:
                started.callback(stream.close)
        return child  # type: ignore[no-any-return]

    with contextlib.ExitStack() as started:
        yield start


# -- the exit ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, 3, 42, 126, 127, 255])
def test_the_exit_code_is_the_programs(code: int) -> None:
    ran = run(f"raise SystemExit({code})")
    assert ran.returncode == code
    assert ran.stdout == b""
    assert (ran.stderr == b"") == (code == 0)


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGPIPE", "SIGXFSZ", "SIGALRM"])
def test_a_program_that_a_signal_ends_ends_us_by_the_same_signal(name: str, tmp_path: Path) -> None:
    ran = run(f"import os, signal as s; s.signal(s.{name}, s.SIG_DFL); os.kill(os.getpid(), s.{name})", cwd=tmp_path)
    assert ran.returncode == -getattr(signal, name)
    assert f"was killed by {name}.".encode() in ran.stderr
    assert not list(tmp_path.glob("core*"))


def test_a_program_that_is_killed_ends_us_so_too() -> None:
    ran = run("import os; os.kill(os.getpid(), 9)")
    assert ran.returncode == -9
    assert b"was killed by SIGKILL." in ran.stderr


def test_a_program_that_succeeds_is_not_commented() -> None:
    ran = run("print('CUDA error: out of memory'); import sys; sys.stderr.write('No CUDA GPUs are available')")
    assert (ran.returncode, ran.stdout, ran.stderr) == (
        0,
        b"CUDA error: out of memory\n",
        b"No CUDA GPUs are available",
    )


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--", "nosuchcommand"], 127, "There is no command nosuchcommand."),
        (["--", "/no/such/file"], 127, "There is no file /no/such/file."),
        (["--", "/etc/passwd"], 126, "/etc/passwd is not executable."),
        (["--", "/tmp"], 126, "/tmp is a directory."),
        (["--"], 2, "No command after --."),
        ([], 2, "Put -- before the command: gpudoctor run -- python train.py"),
        (["python", "x.py"], 2, "Put -- before the command: gpudoctor run -- python x.py"),
        (["--timeout", "0", "--", "true"], 2, "--timeout takes 1 to 86400 seconds, not 0."),
        (["--nothing", "--", "true"], 2, None),
    ],
)
def test_what_cannot_be_run_is_told_in_a_sentence(words: list[str], code: int, sentence: str | None) -> None:
    ran = gpudoctor("run", *words)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.count("\n") == 1
    assert sentence is None or ran.err == f"gpudoctor: {sentence}\n"


def test_files_that_are_no_programs(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("echo from sh $1\n")
    (tmp_path / "broken").write_text("#!/no/such/interpreter\n")
    (tmp_path / "empty").write_text("")
    for path in tmp_path.iterdir():
        path.chmod(0o755)
    assert gpudoctor("run", "--", "./script", "x", cwd=tmp_path) == (0, "from sh x\n", "")
    ran = gpudoctor("run", "--", "./broken", cwd=tmp_path)
    assert (ran.code, ran.err) == (
        126,
        "gpudoctor: ./broken cannot be run: the interpreter named in its first line does not exist.\n",
    )
    assert gpudoctor("run", "--", "./empty", cwd=tmp_path).code == 0


def test_options_after_the_dashes_are_the_commands() -> None:
    ran = gpudoctor("run", "--", "echo", "--help", "--", "-x")
    assert (ran.code, ran.out) == (0, "--help -- -x\n")


# -- what it writes ------------------------------------------------------------------------------------------


def test_every_byte_goes_through_in_its_order(tmp_path: Path) -> None:
    code = (
        "import os, random\nrandom.seed(7)\n"
        "for _ in range(300):\n"
        "    for fd in (1, 2):\n"
        "        data = random.randbytes(random.randrange(1, 40000))\n"
        "        while data: data = data[os.write(fd, data):]\n"
    )
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        ran = run(code, capture_output=False, stdout=out, stderr=err)
    assert ran.returncode == 0
    random.seed(7)
    wanted = {1: hashlib.sha256(), 2: hashlib.sha256()}
    for _ in range(300):
        for fd in (1, 2):
            wanted[fd].update(random.randbytes(random.randrange(1, 40000)))
    for name, fd in (("out", 1), ("err", 2)):
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == wanted[fd].hexdigest()


def test_both_streams_in_one_file_keep_their_order() -> None:
    code = "import os\nfor i in range(2000): os.write(1 + i % 2, b'%d\\n' % i)"
    ran = run(code, capture_output=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert ran.stdout.split() == [b"%d" % i for i in range(2000)]


def test_output_comes_at_once(background: Callable[..., "subprocess.Popen[bytes]"]) -> None:
    child = background("ready(); os.write(1, b'now'); sys.stdin.read()", stdin=subprocess.PIPE)
    assert child.stdout
    assert child.stdin
    assert os.read(child.stdout.fileno(), 10) == b"now"
    child.stdin.close()
    assert child.wait(20) == 0


def test_standard_input_is_the_programs_own() -> None:
    code = "import os, sys; print(os.fstat(0).st_ino, len(sys.stdin.buffer.read()))"
    with open("/usr/bin/env", "rb") as file:
        size, inode = os.fstat(file.fileno()).st_size, os.fstat(file.fileno()).st_ino
        ran = run(code, stdin=file)
    assert ran.stdout.split() == [b"%d" % inode, b"%d" % size]


def test_a_reader_that_goes_away_ends_the_program_as_without_us() -> None:
    line = f"{sys.executable} -c 'while True: print(1)'"
    plain = shell(f"{line} 2>/dev/null | head -n 3; echo ${{PIPESTATUS[0]}}")
    ours = shell(f"gpudoctor run --quick -- {line} 2>/dev/null | head -n 3; echo ${{PIPESTATUS[0]}}")
    assert ours.out == plain.out
    ran = shell("gpudoctor run --quick -- yes | head -n 3; echo ${PIPESTATUS[0]}")
    assert ran.out == "y\ny\ny\n141\n"


def test_a_full_disk_is_the_programs_own_trouble() -> None:
    ran = shell("gpudoctor run --quick -- sh -c 'while echo x; do :; done' > /dev/full; echo $?")
    assert ran.out != "0\n"


def test_much_output_takes_little_memory(tmp_path: Path) -> None:
    code = "import sys\nfor i in range(600): sys.stdout.write('step %d of many\\n' % i * 20000)\nraise SystemExit(3)"
    script = (
        "import resource, subprocess, sys\n"
        f"code = subprocess.call({[*GPUDOCTOR, 'run', '--quick', '--', *PYTHON, code]!r}, stdout=subprocess.DEVNULL)\n"
        "print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    ran = subprocess.run([*PYTHON, script], capture_output=True, text=True, env=BARE, cwd="/", timeout=100)
    code_, kib = ran.stdout.split()
    assert code_ == "3"
    assert int(kib) < 150 << 10


def test_a_process_in_the_background_does_not_hold_us_up() -> None:
    begun = time.monotonic()
    ran = run("import subprocess; subprocess.Popen(['sleep', '5']); print('left')")
    assert (ran.returncode, ran.stdout) == (0, b"left\n")
    assert time.monotonic() - begun < 4


def test_closed_streams() -> None:
    assert shell("gpudoctor run --quick -- sh -c 'exit 4' >&-").code == 4
    assert shell("gpudoctor run --quick -- sh -c 'exit 4' 2>&-").code == 4
    assert shell("gpudoctor run --quick -- sh -c 'read x || exit 4' <&-").code == 4


# -- environment ---------------------------------------------------------------------------------------------


def test_nothing_about_the_program_is_changed(tmp_path: Path) -> None:
    code = (
        "import json, os, signal, resource\n"
        "status = dict(l.split(':\\t') for l in open('/proc/self/status').read().splitlines() if ':\\t' in l)\n"
        "print(json.dumps([dict(os.environ), os.getcwd(), sorted(os.listdir('/proc/self/fd'))[:3], os.getsid(0),"
        " [status[k] for k in ('SigBlk', 'SigIgn', 'SigCgt')], len(os.listdir('/proc/self/fd'))]))"
    )
    plain = subprocess.run([*PYTHON, code], capture_output=True, env=BARE | {"A": "\udcff"}, cwd=tmp_path)
    ours = run(code, env=BARE | {"A": "\udcff"}, cwd=tmp_path)
    assert json.loads(ours.stdout) == json.loads(plain.stdout)


def test_a_descriptor_that_was_handed_down_arrives(tmp_path: Path) -> None:
    ran = shell("gpudoctor run -- sh -c 'echo deep >&7' 7> deep", cwd=tmp_path)
    assert (ran.code, (tmp_path / "deep").read_text()) == (0, "deep\n")


# -- signals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"])
def test_a_signal_to_us_reaches_the_program_once(
    background: Callable[..., "subprocess.Popen[bytes]"], name: str
) -> None:
    child = background(
        f"got = []\nsignal.signal(signal.{name}, lambda *a: got.append(1))\nready()\n"
        "end = time.monotonic() + 20\n"
        "while not got and time.monotonic() < end: time.sleep(0.01)\n"
        "time.sleep(0.3); print(len(got)); sys.exit(5)"
    )
    child.send_signal(getattr(signal, name))
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out) == (5, b"1\n")
    assert (err == b"") == (name not in ("SIGUSR1", "SIGUSR2")), "who was interrupted has not failed"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_program_that_a_signal_to_us_ends_is_not_commented(
    background: Callable[..., "subprocess.Popen[bytes]"], name: str
) -> None:
    child = background(f"signal.signal(signal.{name}, signal.SIG_DFL); ready(); time.sleep(60)")
    child.send_signal(getattr(signal, name))
    assert (child.communicate(timeout=30), child.returncode) == ((b"", b""), -getattr(signal, name))


def test_signals_that_were_ignored_stay_ignored(tmp_path: Path) -> None:
    code = "import signal as s; print([s.getsignal(n) is s.SIG_IGN for n in (s.SIGHUP, s.SIGTERM)])"
    line = f"trap '' HUP; exec {sys.executable} -m gpudoctor run -- {sys.executable} -c '{code}'"
    ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=BARE, cwd="/", timeout=60)
    assert ended.stdout == "[True, False]\n"


def test_when_we_are_killed_the_program_does_not_stay(background: Callable[..., "subprocess.Popen[bytes]"]) -> None:
    child = background("os.write(1, b'%d' % os.getpid()); ready(); time.sleep(60)")
    assert child.stdout
    pid = int(os.read(child.stdout.fileno(), 20))
    child.kill()
    child.wait(20)
    end = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and b"\nState:\tZ" not in Path(f"/proc/{pid}/status").read_bytes():
        assert time.monotonic() < end, "it is still there"
        time.sleep(0.02)


def test_a_program_stopped_by_the_terminal_stops_us_and_goes_on_with_us(
    background: Callable[..., "subprocess.Popen[bytes]"],
) -> None:
    child = background(
        "signal.signal(signal.SIGCONT, lambda *a: os.write(1, b'on'))\nready()\n"
        "os.setpgid(0, 0)\nos.kill(os.getpid(), signal.SIGTSTP)\ntime.sleep(0.2)\n"
    )
    end = time.monotonic() + 10
    while "T" not in Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0]:
        assert time.monotonic() < end, "we did not stop"
        time.sleep(0.02)
    child.send_signal(signal.SIGCONT)
    out, _ = child.communicate(timeout=20)
    assert (child.returncode, out) == (0, b"on")


def test_who_suspends_us_for_a_while_does_the_program_no_harm(
    background: Callable[..., "subprocess.Popen[bytes]"],
) -> None:
    child = background("ready()\nsys.exit(5 if sys.stdin.readline() == 'on\\n' else 6)", stdin=subprocess.PIPE)
    time.sleep(0.3)  # it waits by now
    child.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    child.send_signal(signal.SIGCONT)
    time.sleep(0.3)
    out, _ = child.communicate(b"on\n", timeout=20)
    assert (child.returncode, out) == (5, b"")


# -- the diagnosis -------------------------------------------------------------------------------------------


def test_a_failure_is_explained_after_the_programs_own_words() -> None:
    code = "import sys; sys.stderr.write('RuntimeError: CUDA error 802: system not yet initialized\\n'); sys.exit(1)"
    ran = run(code)
    text = ran.stderr.decode()
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert text.startswith("RuntimeError: CUDA error 802: system not yet initialized\n\ngpudoctor: ")
    assert "exited with code 1.\n\nMESSAGE   The NVLink fabric is not ready\n" in text


def test_the_diagnosis_goes_to_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "why.json"
    run("import os; os.kill(os.getpid(), 9)", "--output", str(path))
    report = json.loads(path.read_text())
    assert report["schema"] == "gpudoctor.report/1"
    assert report["symptoms"][0]["id"] == "exit-137"
    ran = run("raise SystemExit(7)", "-o", "/no/such/folder/why.json")
    assert ran.returncode == 7
    assert ran.stderr.endswith(b"/no/such/folder/why.json cannot be written: No such file or directory.\n")


def test_a_fault_of_ours_does_not_change_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gpudoctor.cli import main
    from gpudoctor.cli import run as command

    monkeypatch.setattr(command, "_report", lambda *_: 1 / 0)
    assert main(["run", "--", "sh", "-c", "exit 9"]) == 9
    assert "This is a bug in gpudoctor" in capsys.readouterr().err


def test_a_program_that_succeeds_writes_no_file(tmp_path: Path) -> None:
    assert run("pass", "--output", str(tmp_path / "why.json")).returncode == 0
    assert not list(tmp_path.iterdir())


def test_the_commands_own_variables_are_examined(tmp_path: Path) -> None:
    path = tmp_path / "why.json"
    argv = [
        *GPUDOCTOR,
        "run",
        "--quick",
        "-o",
        str(path),
        "--",
        "env",
        "-u",
        "HOME",
        "PATH=/usr/bin:/bin",
        sys.executable,
    ]
    subprocess.run([*argv, "-c", "raise SystemExit(1)"], env=BARE, cwd="/", capture_output=True, timeout=60)
    assert json.loads(path.read_text())["python"]["path"] == sys.executable


def test_a_command_of_an_environment_that_was_moved() -> None:
    with pytest.raises(NotRunError, match=r"^There is no command tensorboard\. The active environment /no/env is gone"):
        located("tensorboard", {"PATH": "/no/env/bin", "VIRTUAL_ENV": "/no/env"})
