"""Who gets into `gpudoctor serve`: who has the token, and nobody else, whatever they send."""

import asyncio
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.browser import until
from tests.real.served import Served, answer, root, serving

pytest.importorskip("textual_serve", reason="the extra web is not installed")

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}
UNINVITED = (403, "Open the address that `gpudoctor serve` printed: it contains the token.")
FOREIGN = (403, "gpudoctor only accepts connections from its own page.")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The demo of a mismatch, served to all tests of this file that end nothing."""
    with serving(tmp_path_factory.mktemp("home"), "--demo", "mismatch") as made:
        yield made


def test_the_token_is_printed_once_and_nowhere_else(served: Served) -> None:
    assert served.printed == served.base
    assert len(served.token) == 43  # 32 bytes
    assert served.said.count(served.token) == 1
    assert "Warning" not in served.said
    for name in ("cmdline", "environ"):
        assert served.token.encode() not in Path(f"/proc/{served.process.pid}/{name}").read_bytes()


@pytest.mark.parametrize("path", ["/", "/ws", "/download/x", "/static/js/textual.js", "/page/page.js", "/nothing"])
@pytest.mark.parametrize("header", [{}, {"Cookie": "gpudoctor-1=x"}, UPGRADE], ids=["plain", "cookie", "websocket"])
def test_nobody_gets_anything_without_it(served: Served, path: str, header: dict[str, str]) -> None:
    assert answer(served.base + path, **header)[:2] == UNINVITED


def test_a_part_of_it_or_more_is_as_good_as_none(served: Served) -> None:
    name, _, session = served.cookie().partition("=")
    for wrong in (served.token[:-1], served.token + "A", "", session, "%C3%A4", "%00"):
        assert answer(f"{served.base}/?token={wrong}")[:2] == UNINVITED
    for wrong in (session[:-1], served.token, "", "ä"):
        assert answer(served.base, Cookie=f"{name}={wrong}".encode().decode("latin-1"))[:2] == UNINVITED
    assert answer(f"{served.base}/ws?token={served.token}", **UPGRADE)[:2] == UNINVITED  # the page alone gets it


def test_the_page_gets_a_cookie_that_no_script_and_no_other_site_has(served: Served) -> None:
    given = answer(served.url).headers["Set-Cookie"]
    assert re.fullmatch(rf"gpudoctor-{served.port}=[\w-]{{43}}; HttpOnly; Path=/; SameSite=Strict", given)
    assert served.token not in given
    assert answer(served.base, Cookie=served.cookie()).status == 200
    assert answer(f"{served.base}/page/page.js", Cookie=served.cookie()).status == 200
    assert answer(f"{served.base}/download/x", Cookie=served.cookie()).status == 404


def test_the_page_may_fetch_nothing_but_its_own(served: Served) -> None:
    page = answer(served.url)
    assert "<title>gpudoctor: demo: mismatch</title>" in page.text
    assert re.findall(r'(?:src|href)="(?!/page/|/static/)[^"]*"|https?:|<style|<script>', page.text) == []
    policy = dict(part.strip().split(" ", 1) for part in page.headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["font-src"] == "'self'"
    assert policy["connect-src"] == f"'self' ws://127.0.0.1:{served.port} wss://127.0.0.1:{served.port}"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert page.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in answer(served.base).headers["Content-Security-Policy"]


def test_only_its_own_page_is_answered(served: Served) -> None:
    mine = {"Cookie": served.cookie()}
    localhost = f"http://localhost:{served.port}/?token={served.token}"
    assert answer(localhost).status == 200
    for origin in ("http://evil.example", "null", "http://[", f"http://127.0.0.1:{served.port + 1}"):
        assert answer(f"{served.base}/ws", **mine, **UPGRADE, Origin=origin)[:2] == FOREIGN
    for host in (f"evil.example:{served.port}", "[", "", "127.0.0.1;x"):  # the first: a name that leads here by DNS
        assert answer(served.url, **mine, Host=host)[:2] == FOREIGN
    assert served.visitors() == []


def test_another_address_than_loopback_is_warned_of(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo", "mismatch", "--host", "0.0.0.0") as served:
        warned = (
            f"gpudoctor: Warning: 0.0.0.0 port {served.port} is reachable over the network without encryption: "
            "anybody who can read the traffic gets the token, and with it this machine's facts and its smoke tests.\n"
        )
        assert served.said.startswith(warned)
        assert served.printed == f"http://{os.uname().nodename}:{served.port}"
        assert answer(served.base)[:2] == UNINVITED
        assert answer(served.url, Host=f"gpu-7.example:{served.port}").status == 200
        assert answer(served.url, Host="a b")[:2] == FOREIGN
        assert answer(f"{served.base}/ws", Cookie=served.cookie(), Origin="http://evil.example")[:2] == FOREIGN


# What a program of another user tries: the page, the socket, the socket by a name of its own, and what lies about.
THEIRS = """
import http.client, os, sys
port, pid = int(sys.argv[1]), sys.argv[2]
assert os.getuid() == 65534
upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
           "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Origin": "http://127.0.0.1:%d" % port}
for path, headers in (("/", {}), ("/?token=", {}), ("/ws?width=80&height=24", upgrade), ("/static/", {})):
    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    asked.request("GET", path, headers=headers)
    print(asked.getresponse().status)
print(*open("/proc/%s/cmdline" % pid).read().split("\\0"))
try:
    open("/proc/%s/environ" % pid).read()
except OSError as error:
    print(type(error).__name__)
"""


@pytest.mark.skipif(not root(), reason="only root can start another user's program")
def test_another_user_of_this_machine_is_refused(served: Served) -> None:
    python = next(one for one in ("/usr/bin/python3", os.path.realpath(sys.executable)) if _all_may_run(one))
    ended = subprocess.run(
        [python, "-I", "-c", THEIRS, str(served.port), str(served.process.pid)],
        user=65534, group=65534, extra_groups=[], cwd="/", env={}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    *statuses, argv, environ = ended.stdout.splitlines()
    assert statuses == ["403"] * 4
    assert served.token not in argv
    assert environ == "PermissionError"
    assert served.visitors() == []


def _all_may_run(path: str) -> bool:
    if not os.path.exists(path):
        return False
    places = [Path(path).resolve(), *Path(path).resolve().parents]
    return all(place.stat().st_mode & stat.S_IXOTH for place in places)


# -- a visit ---------------------------------------------------------------------------------------------------------


def visit(served: Served, what: Callable[[Any], Awaitable[object]]) -> int:
    """Open the page's socket as the page does, and do something; the code with which it was closed."""
    aiohttp = pytest.importorskip("aiohttp")

    async def whole() -> int:
        async with (
            aiohttp.ClientSession(headers={"Cookie": served.cookie(), "Origin": served.base}) as session,
            session.ws_connect(f"{served.base}/ws?width=80&height=24") as socket,
        ):
            await _until(socket, b"Diagnosis")
            await what(socket)
            async with asyncio.timeout(30):
                async for _ in socket:
                    pass
            return int(socket.close_code or 0)

    return asyncio.run(whole())


async def _until(socket: Any, text: bytes) -> None:
    seen = b""
    async with asyncio.timeout(60):
        while text not in seen:
            message = await socket.receive()
            assert not socket.closed, seen
            seen += message.data if isinstance(message.data, bytes) else str(message.data).encode()


def test_the_page_is_told_how_it_ended(served: Served) -> None:
    async def leave(socket: Any) -> None:
        await socket.send_json(["stdin", "q"])

    async def kill(_: Any) -> None:
        (pid,) = served.visitors()
        os.kill(pid, signal.SIGKILL)

    assert visit(served, leave) == 1000
    assert visit(served, kill) == 1011
    until(lambda: not served.visitors(), "the end of both")


@pytest.mark.parametrize("said", ["x", "{}", "[]", '["stdin"]', '["stdin", 7]', '["resize", null]', '["ping"]'])
def test_what_no_page_says_ends_the_visit(served: Served, said: str) -> None:
    async def say(socket: Any) -> None:
        await socket.send_str(said)

    assert visit(served, say) == 1007
    until(lambda: not served.visitors(), "the end of the visit")
    assert answer(served.url).status == 200


def test_the_end_of_the_server_is_told(tmp_path: Path) -> None:
    with serving(tmp_path, "--demo", "mismatch") as served:

        async def end(_: Any) -> None:
            served.process.send_signal(signal.SIGTERM)

        assert visit(served, end) == 1001
        assert served.process.wait(20) == 0


def test_what_lies_in_the_working_directory_is_not_run(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    noted = f"import os\nos.close(os.open({str(tmp_path / 'run-')!r} + __name__, os.O_CREAT))\n"
    for name in ("gpudoctor/__init__.py", "gpudoctor/__main__.py", "textual.py", "json.py", "aiohttp.py", "rich.py"):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(noted)

    async def leave(socket: Any) -> None:
        await socket.send_json(["stdin", "q"])

    with serving(tmp_path, "--demo", "mismatch", cwd=here) as served:
        assert visit(served, leave) == 1000
    assert list(tmp_path.glob("run-*")) == []


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_the_server(tmp_path: Path, name: str) -> None:
    with serving(tmp_path, "--demo", "mismatch") as served:
        served.process.send_signal(getattr(signal, name))
        assert served.process.wait(20) == 0
