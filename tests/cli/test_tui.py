"""`gpudoctor tui` and `gpudoctor serve` as commands: what they open, what they refuse, and in which words."""

import builtins
import platform
import re
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gpudoctor.cli import OK, main, parser, serve, terminal, tui
from gpudoctor.demo import DEMOS
from gpudoctor.extras import install_command
from tests.cli import gpudoctor
from tests.cli.conftest import Run


def _arguments(line: str) -> Any:
    words = shlex.split(line)
    return parser(words[0]).parse_args(words)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("--demo mismach", 'Unknown --demo value "mismach". Did you mean "mismatch"?'),
        ("--demo zzz", 'Unknown --demo value "zzz". Choose from: mismatch, cpu-wheel, bad-link.'),
        ("--zzz", 'Unknown option "--zzz". See `gpudoctor check --help`.'),
        ("tui --zzz", 'Unknown option "--zzz". See `gpudoctor tui --help`.'),
        ("tui more", 'Unexpected argument "more". See `gpudoctor tui --help`.'),
        ("tui", "The application needs a terminal. `gpudoctor check` prints the diagnosis as text."),
        ("tui --quick", "The application needs a terminal. `gpudoctor check` prints the diagnosis as text."),
        ("serve --port 0", "--port takes 1 to 65535, not 0."),
        ("serve --port 65536", "--port takes 1 to 65535, not 65536."),
        ("serve --port http", "--port takes 1 to 65535, not http."),
        ("serve --facts /proc/none", "The facts file /proc/none cannot be read: No such file or directory."),
        ("serve --facts -", "--facts - cannot be used here: the application reads keys from standard input."),
        (
            "serve --demo mismatch --quick --facts x",
            "--facts cannot be used with --demo, which opens a recorded machine.",
        ),
        ("serve --demo mismatch --python x", "--python cannot be used with --demo, which opens a recorded machine."),
        ("serve --demo mismatch --root /tmp", "--root cannot be used with --demo, which opens a recorded machine."),
        ("serve --root /proc/none", "--root /proc/none is not a directory."),
        ("serve --fleet /proc/none", "--fleet /proc/none: no such file or directory."),
        ("serve --fleet -", "--fleet - cannot be used here: the application reads keys from standard input."),
        ("serve --samples /proc/none", "The recording /proc/none cannot be read: No such file or directory."),
        ("serve --samples /", "The recording / cannot be read: Is a directory."),
        (
            "serve --samples /dev/null",
            'The file is not a recording: its first line does not contain "schema": "gpudoctor.samples/1".',
        ),
    ],
)
def test_one_sentence(run: Run, line: str, sentence: str) -> None:
    assert run(*line.split()).sentence == sentence


def test_the_facts_are_refused_beside_what_looks_at_this_machine(run: Run, facts_file: str) -> None:
    reported = "cannot be used with --facts: the file contains what was found on its own machine."
    assert run("serve", "--facts", facts_file, "--root", "/tmp").sentence == f"--root {reported}"


def test_it_opens_what_was_asked_for(facts_file: str) -> None:
    plain = tui.source_of(_arguments("tui --quick"))
    assert (plain.title, plain.live, plain.options.quick, plain.options.glimpses) == ("this machine", True, True, True)
    named = tui.source_of(_arguments(f"tui --python {sys.executable} --timeout 7"))
    assert named.options.pythons == (sys.executable,)
    assert 6 < named.make().left(100) <= 7
    assert named.make() is not named.make()
    assert tui.source_of(_arguments("tui --root /tmp")).title == "/tmp"
    recorded = tui.source_of(_arguments(f"tui --facts {facts_file}"))
    assert (recorded.title, recorded.live) == ("host.json", False)
    for name in DEMOS:
        opened = tui.source_of(_arguments(f"tui --demo {name}"))
        assert (opened.title, opened.demo, opened.samples) == (f"demo: {name}", name, ())


def test_it_opens_the_reports_of_a_fleet_beside_any_machine(tmp_path: Path) -> None:
    (tmp_path / "one.json").touch()
    given = _arguments(f"tui --demo mismatch --fleet {tmp_path} {tmp_path / 'one.json'}")
    assert tui.fleet_of(given) == (str(tmp_path), str(tmp_path / "one.json"))
    assert tui.source_of(given).demo == "mismatch"
    assert tui.fleet_of(_arguments("tui")) == ()


def test_a_visitor_s_application_opens_the_same_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my run").mkdir()
    monkeypatch.chdir(tmp_path)
    given = _arguments("serve --fleet 'my run'")
    assert serve.command(given)[-2:] == ["--fleet", f"{tmp_path}/my run"]


def test_it_plays_recorded_samples_beside_any_machine(tmp_path: Path) -> None:
    path = tmp_path / "my samples.jsonl"
    path.write_text('{"schema": "gpudoctor.samples/1", "title": "one"}\n{"gpu": "GPU 0", "sample": {"at": 1.0}}\n')
    for others in ("", "--demo mismatch", "--quick"):
        opened = tui.source_of(_arguments(f"tui --samples {shlex.quote(str(path))} {others}"))
        assert [line.title for line in opened.samples] == ["one", None]
    words = serve.command(_arguments("serve --samples 'a b'"))
    assert words == [sys.executable, "-P", "-m", "gpudoctor", "tui", "--samples", "a b"]


def _note(seen: list[Any], arguments: Any) -> int:
    seen.append(arguments)
    return OK


@pytest.mark.parametrize("line", ["", "--demo mismatch", "--facts x", "--python x --quick"])
def test_no_command_means_the_application(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(terminal, "is_terminal", lambda _: True)
    monkeypatch.setattr(tui, "run", partial(_note, seen))
    assert main(line.split()) == OK
    assert [arguments.command for arguments in seen] == ["tui"]


def test_help_and_version_are_those_of_the_whole(run: Run) -> None:
    assert "Without a command, gpudoctor opens an application" in " ".join(run("--help").out.split())
    assert run("--version").out.startswith("gpudoctor ")


def test_a_visitors_command_has_the_same_options() -> None:
    words = serve.command(_arguments('serve --facts "my host.json" --timeout 9 --quick'))
    assert words[:4] == [sys.executable, "-P", "-m", "gpudoctor"]
    assert words[4:] == ["tui", "--facts", "my host.json", "--timeout", "9.0", "--quick"]
    words = serve.command(_arguments("serve --python 'a b' --python c --root /x --demo mismatch"))
    assert words[5:] == ["--demo", "mismatch", "--python", "a b", "--python", "c", "--root", "/x"]
    assert main(words[4:]) == 2  # they are understood: all that is missing is a terminal, or a sense in the options


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("serve", platform.node()),
        ("serve --demo mismatch", "demo: mismatch"),
        ("serve --root /tmp", "/tmp"),
        ("serve --fleet /tmp/run-7/", "run-7"),
    ],
)
def test_the_page_s_title_says_what_is_shown(line: str, shown: str) -> None:
    given = _arguments(line)
    assert serve.shown(tui.source_of(given), tuple(given.fleet)) == shown


def test_without_the_extra_it_says_how_to_install_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *more: Any) -> Any:
        if name.partition(".")[0] in ("aiohttp", "textual_serve"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *more)

    monkeypatch.delitem(sys.modules, "gpudoctor.cli.web_server", raising=False)
    monkeypatch.setattr(builtins, "__import__", missing)
    reported = f'`gpudoctor serve` needs the extra "web": `{install_command("web")}`.'
    assert run("serve", "--demo", "mismatch").sentence == reported


def test_a_port_that_is_taken_is_told_in_a_sentence() -> None:
    pytest.importorskip("textual_serve")
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        port = one.getsockname()[1]
        reported = gpudoctor("serve", "--demo", "mismatch", "--port", str(port)).sentence
    assert reported == f"Cannot listen on 127.0.0.1 port {port}: Address already in use."


def test_what_a_signal_undoes_is_what_textual_does() -> None:
    """Each mode that textual's driver turns on for the terminal is turned off again."""
    from textual.drivers import linux_driver

    from gpudoctor.cli.terminal_restore import USABLE

    lines = Path(linux_driver.__file__).read_text(encoding="utf-8").splitlines()
    text = "\n".join(line.partition("#")[0] for line in lines)
    on = set(re.findall(r"\[\?(\d+)h", text)) - {"25", "7"}  # those two are on in every terminal
    assert "1049" in on
    assert {mode for mode in on if f"[?{mode}l" not in USABLE} == set()
    assert "[?25h" in USABLE
    assert "[?7h" in USABLE
