"""The server behind `gpudoctor serve`: textual-serve's, held to who was invited, ended with all of its visitors.

The token in the printed address is the invitation: listening on loopback keeps other machines out, and neither the
other users of this one nor the pages of other sites. The page, its script and its style are ours (gpudoctor/cli/page),
because textual-serve's own page fetches a font from the internet and does not take keys before the first click.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import urlsplit

from aiohttp import WSCloseCode, web
from aiohttp.typedefs import Handler
from aiohttp.web_runner import GracefulExit
from textual_serve import server as textual_server
from textual_serve.app_service import AppService

from gpudoctor.cli.output import out
from gpudoctor.cli.serve import LOOPBACK

PAGE = Path(__file__).with_name("page")
PATIENCE = 3.0  # seconds for visitors' applications to end: their children may take two
TOKEN = 32  # random bytes, as Jupyter's token has 24 and Python's documentation advises 32 (module secrets)
FOREIGN = "gpudoctor only accepts connections from its own page."
UNINVITED = "Open the address that `gpudoctor serve` printed: it contains the token."
# The style of xterm.js, which draws the terminal, is made by its script, so no rule can name it beforehand.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:; "
    "connect-src 'self'{}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY.format(""),
    "Cache-Control": "no-store",  # else browsers keep a page that was left, and its application
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
}


class Visit(AppService):
    """One visitor's application.

    Overridden are how its process is started, which textual-serve does through a shell, and what follows its end, of
    which textual-serve tells the page only where the application took leave itself.

    Args:
        command: the words that start it.
        websocket: the page's.
        served: the server.
    """

    def __init__(self, command: list[str], websocket: web.WebSocketResponse, served: Server) -> None:
        super().__init__(
            "",
            write_bytes=websocket.send_bytes,
            write_str=websocket.send_str,
            close=self._close,
            download_manager=served.download_manager,
        )
        self._words, self._websocket = command, websocket
        self.why = WSCloseCode.OK

    async def _close(self) -> None:
        await self._websocket.close(code=self.why)

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        """Start it without a shell."""
        process = await asyncio.create_subprocess_exec(
            *self._words, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=self._build_environment(width, height)
        )
        self._process, self._stdin = process, process.stdin
        return process

    async def run(self) -> None:
        """Run it to its end; a page whose application was killed would else wait for ever."""
        await super().run()
        if not self._websocket.closed:
            self.why = WSCloseCode.INTERNAL_ERROR
            await self._close()


class Server(textual_server.Server):
    """Serves the application.

    Args:
        command: the words that start it for one visitor.
        host: the address to listen on.
        port: the port to listen on.
        shows: what is shown, for the title: the machine's name.
    """

    def __init__(self, command: list[str], host: str, port: int, shows: str) -> None:
        super().__init__("", host, port, title=f"gpudoctor: {shows}", public_url=f"http://{_reached(host)}:{port}")
        self.words, self.open = command, host not in LOOPBACK
        self._token, self._session = secrets.token_urlsafe(TOKEN), secrets.token_urlsafe(TOKEN)
        self._cookie = f"gpudoctor-{port}"  # cookies know no ports (RFC 6265, section 8.5): each server its own
        self._visits: set[asyncio.Task[object]] = set()

    async def _make_app(self) -> web.Application:
        """textual-serve's application with a guard, headers, and our page's files."""
        app = await super()._make_app()
        app.middlewares.append(self._only_invited)
        app.on_response_prepare.append(_add_headers)
        app.router.add_static("/page", PAGE)
        return app

    @web.middleware
    async def _only_invited(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Turn away who has neither the token nor the cookie that the page gets, and what another site's page asks.

        Any page may open a socket to loopback, or have a name of its own lead here, and it has the visitor's reach.
        """
        name = _name(request.host)
        if _foreign(request) or not (name in LOOPBACK or (self.open and name)):
            raise web.HTTPForbidden(text=FOREIGN)
        invited = request.path == "/" and _same(request.query.get("token", ""), self._token)
        if not (invited or _same(request.cookies.get(self._cookie, ""), self._session)):
            raise web.HTTPForbidden(text=UNINVITED)
        return await handler(request)

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """Our page, and the cookie by which the visitor is known from now on.

        No redirect takes the token out of the address, the page's script does: a browser sends a strict cookie along
        no redirect that began on another site's page, such as a terminal in the browser.
        """
        page = Template((PAGE / "index.html").read_text(encoding="utf-8"))
        response = web.Response(text=page.substitute(title=escape(self.title)), content_type="text/html")
        sockets = f" ws://{request.host} wss://{request.host}"  # which 'self' does not mean to older browsers
        response.headers["Content-Security-Policy"] = POLICY.format(sockets)
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="Strict")
        return response

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """One visit; textual-serve's own makes an AppService, and this one a Visit."""
        task = asyncio.current_task()
        self._visits |= {task} if task else set()
        websocket = web.WebSocketResponse(heartbeat=15)
        await websocket.prepare(request)
        visit = Visit(self.words, websocket, self)
        try:
            await visit.start(*(_cells(request.query.get(name, "")) for name in ("width", "height")))
            await self._process_messages(websocket, visit)
        except asyncio.CancelledError:
            visit.why = WSCloseCode.GOING_AWAY
        except (AssertionError, LookupError, TypeError, ValueError, AttributeError):  # no message of our page
            visit.why = WSCloseCode.INVALID_TEXT
        except OSError:  # it could not be started
            visit.why = WSCloseCode.INTERNAL_ERROR
        finally:
            await visit.stop()
            await websocket.close(code=visit.why)
            self._visits -= {task} if task else set()
        return websocket

    def serve(self, debug: bool = False) -> None:  # noqa: ARG002 - textual-serve's
        """Serve until SIGINT or SIGTERM, without textual-serve's log, which holds each address that was asked for."""
        loop = asyncio.new_event_loop()
        run = partial(web.run_app, host=self.host, port=self.port, shutdown_timeout=0.5, loop=loop)
        with _stopped_by_signals(loop):
            run(self._make_app(), print=lambda *_: self._say(), access_log=None, handle_signals=False)

    def _say(self) -> None:
        out(f"gpudoctor is at {self.public_url}/?token={self._token} (Ctrl-C stops it)\n")
        sys.stdout.flush()

    async def on_startup(self, app: web.Application) -> None:
        """Say nothing yet: the port may be taken."""

    async def on_shutdown(self, app: web.Application) -> None:  # noqa: ARG002 - textual-serve calls it so
        """End each visit, and so its application; those that take no notice see us go (cli/terminal_restore.py)."""
        visits = set(self._visits)
        for task in visits:
            task.cancel()
        if visits:
            await asyncio.wait(visits, timeout=PATIENCE)


@contextmanager
def _stopped_by_signals(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """While it lasts, the first SIGINT or SIGTERM stops aiohttp's server in order; further ones change nothing.

    aiohttp's own handlers leave Python's defaults behind, by which the next signal ends us wherever we are.
    """
    stopping: list[int] = []

    def stop() -> None:
        raise GracefulExit

    def handle(number: int, _: object) -> None:
        if not stopping and not loop.is_closed():
            stopping.append(number)
            loop.call_soon_threadsafe(stop)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, old in before.items():
        if old is not signal.SIG_IGN:
            signal.signal(number, handle)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)


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
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
    return name if name.isascii() and all(letter.isalnum() or letter in ".:-_" for letter in name) else ""


def _same(given: str, wanted: str) -> bool:
    """Whether it is the secret; how long the comparison takes does not tell how much of it was right."""
    return secrets.compare_digest(given.encode("utf-8", "surrogateescape"), wanted.encode())


def _cells(text: str) -> int:
    """Columns or rows of the page's terminal; it tells its true size again as soon as it is connected."""
    return min(int(text), 1000) if text.isascii() and text.isdigit() and len(text) < 5 else 80


def _reached(host: str) -> str:
    """The host as it stands in an address: of all addresses the machine's name."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, and not listened on
        from platform import node

        return node()
    return f"[{host}]" if ":" in host else host
