"""The process: how calls are cancelled, how it ends, what it does with garbage, and what it leaves alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from gpudoctor.cli.mcp_server.tools import TOOLS, AssistantTool
from gpudoctor.extras import install_command
from tests.cli import shell
from tests.cli.mcp import SECONDS, SERVER, raw


class HangingPython:
    """An environment whose Python tells its process ID and then hangs."""

    def __init__(self, folder: Path) -> None:
        self.path, self._pipe = folder / "env", folder / "pids"
        os.mkfifo(self._pipe)
        python = self.path / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f"#!/bin/sh\necho $$ > {self._pipe}\nexec sleep 600\n")
        python.chmod(0o755)

    def started(self) -> psutil.Process:
        """The process, as soon as it runs."""
        return psutil.Process(int(self._pipe.read_text()))


@pytest.fixture
def hanging(tmp_path: Path) -> HangingPython:
    return HangingPython(tmp_path)


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


def children(server: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return list(psutil.Process(server.pid).children(recursive=True))


def all_gone(processes: list[psutil.Process]) -> bool:
    """Whether they end; one that only nobody has collected has ended."""
    _, alive = psutil.wait_procs(processes, timeout=10)
    return all(one.status() == psutil.STATUS_ZOMBIE for one in alive if one.is_running())


def test_a_cancelled_call_leaves_no_process_and_no_file(hanging: HangingPython, temporary: Path) -> None:
    with raw("--python", str(hanging.path), env=os.environ | {"TMPDIR": str(temporary)}) as server:
        server.call(1, "check", python=str(hanging.path), full=True)
        one = hanging.started()
        processes = [*children(server.process), one]
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        server.write(json.dumps(cancelled).encode())
        assert all_gone(processes)
        server.request(2, "ping", {})
        assert server.read() == {"jsonrpc": "2.0", "id": 2, "result": {}}  # and no answer to the cancelled call
        assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("how", ["end of input", "SIGTERM"])
def test_when_the_server_ends_nothing_is_left(how: str, hanging: HangingPython) -> None:
    with raw("--python", str(hanging.path)) as server:
        server.call(1, "check", python=str(hanging.path))
        one = hanging.started()
        processes = [*children(server.process), one]
        if how != "end of input":
            server.process.send_signal(getattr(signal, how))
        code, _, err = server.close()
        assert code == {"end of input": 0, "SIGTERM": 128 + signal.SIGTERM}[how]
        assert err == ""
        assert all_gone(processes)


def test_the_process_of_a_call_ends_with_a_server_that_is_killed(hanging: HangingPython) -> None:
    with raw("--python", str(hanging.path)) as server:
        server.call(1, "check", python=str(hanging.path))
        one = hanging.started()
        answering = psutil.Process(server.process.pid).children()
        server.process.kill()
        assert all_gone(answering)
        with suppress(psutil.NoSuchProcess):
            one.kill()  # it may have started in the very moment in which nothing ties it yet


def test_a_call_has_a_deadline(hanging: HangingPython, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpudoctor.cli.mcp_server.server import _called  # with the SDK, which takes a second

    monkeypatch.setattr(AssistantTool, "seconds", lambda *_: 1.0)

    async def call() -> Any:
        given = {"python": str(hanging.path)}
        return await _called(TOOLS["check"], given, [str(hanging.path)], anyio.CapacityLimiter(1))

    answer = anyio.run(call)
    assert answer.is_error
    assert answer.content[0].text == "check did not end within 1 seconds and was stopped."


def test_only_so_many_calls_run_at_a_time(hanging: HangingPython) -> None:
    with raw("--python", str(hanging.path)) as server:
        for number in range(1, 6):
            server.call(number, "check", python=str(hanging.path))
        answer = server.read()
        assert answer["id"] == 5
        assert answer["result"]["isError"]
        assert answer["result"]["content"][0]["text"] == (
            "4 calls are running; call check again when one of them has ended."
        )


def test_garbage_changes_nothing() -> None:
    garbage = (b"garbage", b"{", b"{}", b"[1]", b"\x00\xff\xfe", b'{"jsonrpc":"2.0","id":null}', b"", b"9" * 100_000)
    with raw() as server:
        for line in garbage:
            server.write(line)
        server.request(7, "tools/list", {})
        answer = server.read()
        while answer.get("id") != 7:
            assert "error" in answer
            answer = server.read()
        assert [tool["name"] for tool in answer["result"]["tools"]] == list(TOOLS)
        assert server.close()[0] == 0


def test_errors_of_the_protocol() -> None:
    wrong: list[tuple[str, Any, int]] = [
        ("no/such", {}, -32601),
        ("resources/list", {}, -32601),
        ("tools/call", {"name": "nope"}, -32602),
        ("tools/call", {"name": "check", "arguments": []}, -32602),
        ("tools/call", {}, -32602),
    ]
    with raw() as server:
        for number, (method, params, code) in enumerate(wrong, 1):
            server.request(number, method, params)
            answer = server.read()
            assert (answer["id"], answer["error"]["code"]) == (number, code)


def test_standard_output_is_for_the_protocol_alone() -> None:
    with raw() as server:
        server.call(1, "explain", text="driver.not-loaded")  # which the command itself prints
        assert server.read()["id"] == 1
        assert server.close() == (0, b"", "")


def test_it_listens_nowhere_and_connects_to_nobody() -> None:
    with raw() as server:
        server.call(1, "check")
        server.read()
        assert psutil.Process(server.process.pid).net_connections("inet") == []


def test_a_client_of_the_newest_protocol_is_served() -> None:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def run() -> tuple[str, str]:
        with anyio.fail_after(SECONDS):
            async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=SERVER))) as client:
                answer = await client.call_tool("explain", {"text": "Xid 79"})
                return client.protocol_version, str(answer.content)

    version, text = anyio.run(run)
    assert version >= "2025-11-25"
    assert "fell off the bus" in text


def test_a_module_of_the_working_directory_is_not_imported(tmp_path: Path) -> None:
    for name in ("msgspec", "gpudoctor", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    with raw(script=True, cwd=tmp_path) as server:
        server.call(1, "explain", text="driver.not-loaded")
        assert not server.read()["result"]["isError"]


@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        ("gpudoctor mcp <&-", 2, "gpudoctor: Standard input or output is closed: an assistant starts `gpudoctor mcp` "
         "with both.\n"),
        ("gpudoctor mcp < ping >/dev/full", 2, "gpudoctor: Standard output: No space left on device.\n"),
        ("gpudoctor mcp < ping | true; exit ${PIPESTATUS[0]}", 141, ""),
        ("gpudoctor mcp </dev/null", 0, ""),
    ],
)  # fmt: skip
def test_what_its_streams_can_be(line: str, code: int, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "ping").write_text('{"jsonrpc":"2.0","id":1,"method":"no/such"}\n' * 5000)
    ended = shell(line, cwd=tmp_path, PYTHONPATH=os.getcwd())
    assert (ended.code, ended.err) == (code, sentence)


def test_without_the_extra_it_says_how_to_install_it() -> None:
    code = "import sys; sys.modules['mcp'] = None; from gpudoctor.cli import main; sys.exit(main(['mcp']))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, input="")
    sentence = f'gpudoctor: `gpudoctor mcp` needs the extra "mcp": `{install_command("mcp")}`.\n'
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", sentence)


def test_nothing_but_the_server_loads_the_sdk() -> None:
    code = "from gpudoctor.cli import main; from gpudoctor.cli.mcp_server import answers; main(['check', '--quick'])"
    code += "; import sys; print({'mcp', 'anyio', 'pydantic'} & {*sys.modules})"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout.splitlines()[-1] == "set()"
