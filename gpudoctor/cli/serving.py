"""The server behind `gpudoctor serve`: textual-serve's, held to those who may come, ended with all of its visitors."""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler
from textual_serve import server as textual_server

from gpudoctor.cli.output import out
from gpudoctor.cli.serve import LOOPBACK

PATIENCE = 3.0  # seconds for visitors' applications to end: their children may take two


class Server(textual_server.Server):
    """Serves the application.

    Args:
        command: the shell's words that start it for one visitor.
        host: the address to listen on.
        port: the port to listen on.
    """

    def __init__(self, command: str, host: str, port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        super().__init__(command, host, port, title="gpudoctor", public_url=f"http://{shown}:{port}")
        self.open = host not in LOOPBACK
        self.visits: set[asyncio.Task[object]] = set()

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._only_ours)
        return app

    @web.middleware
    async def _only_ours(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Turn away what another site's page asks for: it has the visitor's reach, and not their will.

        Listening on loopback keeps other machines out, not other pages: any of them may open a socket to it, or have a
        name of its own lead here.
        """
        if _foreign(request) or not (self.open or _name(request.host) in LOOPBACK):
            raise web.HTTPForbidden(text="gpudoctor answers only its own page.")
        return await handler(request)

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """The page; it asks for the rest where the browser found it: by another name, or a forwarded port."""
        self.public_url = f"{request.scheme}://{request.host}"
        page: web.StreamResponse = await super().handle_index(request)
        page.headers["Cache-Control"] = "no-store"  # else browsers keep a page that was left, and its application
        return page

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """One visit."""
        task = asyncio.current_task()
        self.visits |= {task} if task else set()
        try:
            return await super().handle_websocket(request)
        finally:
            self.visits -= {task} if task else set()

    def serve(self, debug: bool = False) -> None:  # noqa: ARG002 - textual-serve's
        """Serve until SIGINT or SIGTERM."""
        run = partial(web.run_app, host=self.host, port=self.port, shutdown_timeout=0.5)
        run(self._make_app(), print=lambda *_: self._say(), access_log=None)

    def _say(self) -> None:
        out(f"gpudoctor is on {self.public_url} (Ctrl-C ends it)\n")
        sys.stdout.flush()

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing yet: the port may be taken."""

    async def on_shutdown(self, app: web.Application) -> None:  # noqa: ARG002 - textual-serve calls it so
        """End each visit, and so its application; those that take no notice see us go (gpudoctor.cli.leaving)."""
        visits = set(self.visits)
        for task in visits:
            task.cancel()
        if visits:
            await asyncio.wait(visits, timeout=PATIENCE)


def _foreign(request: web.Request) -> bool:
    """Whether the page of another site asks."""
    origin = request.headers.get("Origin")
    try:
        return origin is not None and urlsplit(origin).netloc != request.host
    except ValueError:  # no address at all
        return True


def _name(host: str) -> str:
    """The name in a Host header, without the port; empty where it is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
