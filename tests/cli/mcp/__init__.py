"""Tests of `gpudoctor mcp` by the SDK's own client, and by what is written to the process itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # two seconds that only those pay who start a client
    from anyio.from_thread import BlockingPortal
    from mcp import ClientSession, types

VERSION = "2025-11-25"
SERVER = ["-m", "gpudoctor", "mcp"]
SECONDS = 60.0


@asynccontextmanager
async def client(*options: str) -> AsyncIterator[ClientSession]:
    """The SDK's client of a server of its own."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    started = StdioServerParameters(command=sys.executable, args=[*SERVER, *options])
    async with stdio_client(started) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
        await session.initialize()
        yield session


class Assistant:
    """Calls tools as an assistant does, from a test that is not asynchronous."""

    def __init__(self, session: ClientSession, portal: BlockingPortal) -> None:
        self._session, self._portal = session, portal

    def tools(self) -> dict[str, types.Tool]:
        """The tools by name."""
        return {tool.name: tool for tool in self._portal.call(self._session.list_tools).tools}

    def call(self, tool: str, **arguments: Any) -> Answered:
        """The answer to one call."""
        return Answered(self._portal.call(partial(self._session.call_tool, tool, arguments)))


@contextmanager
def assistant(*options: str) -> Iterator[Assistant]:
    """An assistant with a server of its own."""
    from anyio.from_thread import start_blocking_portal

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client(*options)) as session:
        yield Assistant(session, portal)


class Answered:
    """An answer, as an assistant reads it."""

    def __init__(self, result: types.CallToolResult) -> None:
        from mcp import types

        (content,) = result.content
        assert isinstance(content, types.TextContent)
        self.text, self.error, self.data = content.text, result.is_error, result.structured_content


class RawServer:
    """A server whose lines the test writes and reads itself."""

    def __init__(
        self, *options: str, env: dict[str, str] | None = None, cwd: Path | None = None, script: bool = False
    ) -> None:
        start = [str(Path(sys.executable).with_name("gpudoctor")), "mcp"] if script else [sys.executable, *SERVER]
        self.process = subprocess.Popen([*start, *options], stdin=-1, stdout=-1, stderr=-1, env=env, cwd=cwd, bufsize=0)
        me = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self.request(0, "initialize", me)
        assert self.read()["result"]["protocolVersion"] == VERSION
        self.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())

    def write(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")

    def request(self, number: int, method: str, params: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())

    def call(self, number: int, tool: str, **arguments: Any) -> None:
        self.request(number, "tools/call", {"name": tool, "arguments": arguments})

    def read(self) -> dict[str, Any]:
        """The next line, which has to be one of the protocol."""
        assert self.process.stdout
        found = json.loads(self.process.stdout.readline())
        assert found["jsonrpc"] == "2.0"
        return dict(found)

    def close(self) -> tuple[int, bytes, str]:
        """End standard input; gives the exit code and what was still written."""
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out, err.decode()


@contextmanager
def raw(*options: str, **how: Any) -> Iterator[RawServer]:
    """A server that is gone afterwards."""
    server = RawServer(*options, **how)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()
